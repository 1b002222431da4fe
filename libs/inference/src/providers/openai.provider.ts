import { JsonExchange, type Authenticate } from './json-exchange';
import type { ProviderAdapter, UpstreamCall, UpstreamResult, UpstreamStream } from './provider';
import { OpenAiSpeech } from './speech/openai-speech';
import type { UpstreamHttp } from './upstream-http';

/** OpenAI's REST protocol, which most upstreams and self-hosted model servers speak. */
export class OpenAiProvider implements ProviderAdapter {
  readonly protocol = 'openai';
  readonly speech: OpenAiSpeech;
  readonly #exchange: JsonExchange;

  constructor(http: UpstreamHttp, authenticate?: Authenticate) {
    this.#exchange = new JsonExchange(http, authenticate && { authenticate });
    this.speech = new OpenAiSpeech(http, authenticate);
  }

  chat(call: UpstreamCall): Promise<UpstreamResult> {
    return this.#exchange.post('/chat/completions', call);
  }

  embed(call: UpstreamCall): Promise<UpstreamResult> {
    return this.#exchange.post('/embeddings', call);
  }

  chatStream(call: UpstreamCall): Promise<UpstreamStream> {
    return this.#exchange.stream('/chat/completions', call);
  }

  responses(call: UpstreamCall): Promise<UpstreamResult> {
    return this.#exchange.post('/responses', call);
  }

  responsesStream(call: UpstreamCall): Promise<UpstreamStream> {
    return this.#exchange.stream('/responses', call);
  }
}
