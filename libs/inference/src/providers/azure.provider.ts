import { OpenAiProvider, type BatchFlavour } from './openai.provider';
import type { NativeBatches } from './native-batch';
import type { ProviderAdapter } from './provider';
import type { UpstreamStream } from '../wire/upstream-stream';
import type { UpstreamCall, UpstreamResult } from '../wire/upstream-call';
import type { OpenAiSpeech } from './speech/openai-speech';
import type { UpstreamHttp } from '../wire/upstream-http';

/** In a batch, the model's name is that of a batch deployment. The paths have no API version. */
const AZURE_BATCHES: BatchFlavour = {
  endpoints: { chat: '/chat/completions', embeddings: '/embeddings' },
  mostLines: 100_000,
  readsFilesFirst: true,
};

/**
 * Azure OpenAI at `https://<resource>.openai.azure.com/openai/v1`: OpenAI's protocol, with the key in Azure's own
 * header and the name of a deployment as the model.
 */
export class AzureProvider implements ProviderAdapter {
  readonly batch: NativeBatches;
  readonly batchRules = { takesSearchOptions: true };
  readonly speech: OpenAiSpeech;
  readonly #openAi: OpenAiProvider;

  constructor(http: UpstreamHttp) {
    this.#openAi = new OpenAiProvider(http, (apiKey) => ['api-key', apiKey], AZURE_BATCHES);
    this.batch = this.#openAi.batch;
    this.speech = this.#openAi.speech;
  }

  chat(call: UpstreamCall): Promise<UpstreamResult> {
    return this.#openAi.chat(call);
  }

  chatStream(call: UpstreamCall): Promise<UpstreamStream> {
    return this.#openAi.chatStream(call);
  }

  responses(call: UpstreamCall): Promise<UpstreamResult> {
    return this.#openAi.responses(call);
  }

  responsesStream(call: UpstreamCall): Promise<UpstreamStream> {
    return this.#openAi.responsesStream(call);
  }

  embed(call: UpstreamCall): Promise<UpstreamResult> {
    return this.#openAi.embed(call);
  }
}
