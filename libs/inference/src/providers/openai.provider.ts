import { asBearer, JsonExchange, type Authenticate } from './json-exchange';
import type { ProviderAdapter, UpstreamCall, UpstreamResult, UpstreamStream } from './provider';
import type { UpstreamHttp } from './upstream-http';
import { OpenAiVideos } from './videos/openai-videos';
import { VideoRest } from './videos/video-rest';

/** OpenAI's REST protocol, which most upstreams and self-hosted model servers speak. */
export class OpenAiProvider implements ProviderAdapter {
  readonly protocol = 'openai';
  readonly video: OpenAiVideos;
  readonly #exchange: JsonExchange;

  constructor(http: UpstreamHttp, authenticate?: Authenticate) {
    this.#exchange = new JsonExchange(http, authenticate && { authenticate });
    this.video = new OpenAiVideos(new VideoRest(http, authenticate ?? asBearer));
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
