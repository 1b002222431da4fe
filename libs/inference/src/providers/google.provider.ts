import { defined } from '@libs/json';
import { googleGenerateContent, type WirePart } from '../dialects/google-generate-content';
import type { Endpoint } from '../catalogue/catalogue';
import { parseEmbeddingsAnswer, tokensOf, vectorOf } from '../dialects/google-embeddings/answer-reader';
import { writeEmbeddingsAnswer, type EmbeddedBatch } from '../dialects/openai-embeddings/answer-writer';
import { readEmbeddingsRequest, type EmbeddingsRequest } from '../dialects/google-embeddings/request-writer';
import { GoogleBatches } from './google-batch';
import { googleError, isGoneFile } from '../dialects/google-generate-content/error';
import { apiKeyCredential, GoogleRest } from './google-rest';
import type { NativeBatches } from './native-batch';
import { embeddingsLimitsAt } from '../dialects/embeddings-limits';
import { batchesOf, callInOrder } from '../wire/ordered-calls';
import type { ProviderAdapter } from './provider';
import type { UpstreamStream } from '../wire/upstream-stream';
import type { UpstreamCall, UpstreamResult } from '../wire/upstream-call';
import { GoogleSpeech } from './speech/google-speech';
import type { UpstreamHttp } from '../wire/upstream-http';
import { GoogleVideos } from './videos/google-videos';
import { VideoRest } from './videos/video-rest';

const MOST_CALLS_AT_ONCE = 4;

/** The Gemini API (`generativelanguage.googleapis.com/v1beta`). */
export class GoogleProvider implements ProviderAdapter {
  readonly conversation = googleGenerateContent;
  readonly batchRules = { takesOneFormat: true };
  readonly batch: NativeBatches;
  readonly speech: GoogleSpeech;
  readonly video: GoogleVideos;
  readonly #rest: GoogleRest;

  constructor(http: UpstreamHttp) {
    this.#rest = new GoogleRest(http);
    this.batch = new GoogleBatches(http, {
      headersOf: (access) => apiKeyCredential(access).header,
      refusal: googleError,
      isGone: isGoneFile,
    });
    this.speech = new GoogleSpeech(http);
    this.video = new GoogleVideos(new VideoRest(http, (apiKey) => ['x-goog-api-key', apiKey], googleError));
  }

  converse(call: UpstreamCall): Promise<UpstreamResult> {
    return this.#rest.request(`/${modelName(call.endpoint)}:generateContent`, apiKeyCredential(call), call);
  }

  converseStream(call: UpstreamCall): Promise<UpstreamStream> {
    const path = `/${modelName(call.endpoint)}:streamGenerateContent?alt=sse`;
    return this.#rest.stream(path, apiKeyCredential(call), call);
  }

  async embed(call: UpstreamCall): Promise<UpstreamResult> {
    const { endpoint } = call;
    const request = readEmbeddingsRequest(call.body, endpoint);
    return await callInOrder(
      {
        items: batchesOf(request.inputs, embeddingsLimitsAt(endpoint).mostInputs),
        mostAtOnce: MOST_CALLS_AT_ONCE,
        inputsOf: ({ length }) => length,
        ask: (batch, one) => this.#embedBatch(batch, request, one),
        join: (embedded) => writeEmbeddingsAnswer(embedded, request, endpoint),
      },
      call,
    );
  }

  async #embedBatch(
    inputs: readonly (readonly WirePart[])[],
    { dimensions, taskType }: EmbeddingsRequest,
    call: UpstreamCall,
  ): Promise<EmbeddedBatch> {
    const { endpoint } = call;
    const model = modelName(endpoint);
    const requests = inputs.map((parts) =>
      defined({ model, content: { parts }, taskType, outputDimensionality: dimensions }),
    );
    const body = Buffer.from(JSON.stringify({ requests }));
    const path = `/${model}:batchEmbedContents`;
    const result = await this.#rest.request(path, apiKeyCredential(call), { ...call, body });
    const answer = parseEmbeddingsAnswer(result, endpoint);
    const embeddings = Array.isArray(answer['embeddings']) ? answer['embeddings'] : [];
    return {
      vectors: embeddings.map((embedding) => vectorOf(embedding, endpoint)),
      ...tokensOf(answer),
    };
  }
}

/**
 * Returns the upstream's resource name of a model. A name that contains a collection, e.g. `tunedModels/x`, is used
 * unchanged.
 */
function modelName({ upstreamModel }: Endpoint): string {
  return encodeURI(upstreamModel.includes('/') ? upstreamModel : `models/${upstreamModel}`);
}
