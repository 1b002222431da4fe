import { spliceMembers, defined, numberOf, objectOf, objectsOf } from '@libs/json';
import { withPlacedMark } from '../dialects/anthropic-messages';
import { googleGenerateContent, type WirePart } from '../dialects/google-generate-content';
import type { Endpoint } from '../catalogue/catalogue';
import { GoogleAccessTokens } from './google-access-token';
import { parseEmbeddingsAnswer, tokensOf, vectorOf } from '../dialects/google-embeddings/answer-reader';
import { writeEmbeddingsAnswer, type EmbeddedBatch } from '../dialects/openai-embeddings/answer-writer';
import {
  readEmbeddingsRequest,
  readsPurposes,
  textOf,
  type EmbeddingsRequest,
} from '../dialects/google-embeddings/request-writer';
import { GoogleRest } from './google-rest';
import { VertexAccess, vertexModelName } from './google-vertex-access';
import { embeddingsLimitsAt } from '../dialects/embeddings-limits';
import { batchesOf, callInOrder } from '../wire/ordered-calls';
import type { ProviderAdapter } from './provider';
import type { UpstreamStream } from '../wire/upstream-stream';
import type { UpstreamCall, UpstreamResult } from '../wire/upstream-call';
import { tierHeader } from './tier-header';
import type { UpstreamHttp } from '../wire/upstream-http';
import { VertexVideos } from './videos/vertex-videos';

const ANTHROPIC_VERSION = '"vertex-2023-10-16"';
const TIER_HEADER = 'x-vertex-ai-llm-shared-request-type';
const ANTHROPIC_COUNTER = 'publishers/anthropic/models/count-tokens';

const MOST_CALLS_AT_ONCE = 8;

/**
 * Vertex AI: Google's models in the dialect of the Gemini API, Anthropic's in that of the Messages API, Veo in its own.
 */
export class GoogleVertexProvider implements ProviderAdapter {
  readonly conversation = googleGenerateContent;
  readonly batchRules = { takesOneFormat: true };
  readonly #rest: GoogleRest;
  readonly #access: VertexAccess;
  readonly video: VertexVideos;

  /** Token endpoints other than Google's are used only in tests. */
  constructor(http: UpstreamHttp, tokens: GoogleAccessTokens = new GoogleAccessTokens(http)) {
    this.#rest = new GoogleRest(http);
    this.#access = new VertexAccess(tokens);
    this.video = new VertexVideos(http, this.#access);
  }

  converse(call: UpstreamCall): Promise<UpstreamResult> {
    return this.#request(`${vertexModelName(call.endpoint, 'google')}:generateContent`, inTier(call));
  }

  converseStream(call: UpstreamCall): Promise<UpstreamStream> {
    return this.#stream(`${vertexModelName(call.endpoint, 'google')}:streamGenerateContent?alt=sse`, inTier(call));
  }

  messages(call: UpstreamCall): Promise<UpstreamResult> {
    const body = asPrediction(call.body, ['model']);
    return this.#request(`${vertexModelName(call.endpoint, 'anthropic')}:rawPredict`, { ...call, body });
  }

  messagesStream(call: UpstreamCall): Promise<UpstreamStream> {
    const body = asPrediction(call.body, ['model']);
    return this.#stream(`${vertexModelName(call.endpoint, 'anthropic')}:streamRawPredict`, { ...call, body });
  }

  /** Adds the model to the body, because the path here names the counting method instead of the model. */
  countTokens(call: UpstreamCall): Promise<UpstreamResult> {
    const body = asPrediction(call.body, []);
    return this.#request(`${ANTHROPIC_COUNTER}:rawPredict`, { ...call, body });
  }

  async embed(call: UpstreamCall): Promise<UpstreamResult> {
    const { endpoint } = call;
    const request = readEmbeddingsRequest(call.body, endpoint);
    const split = {
      mostAtOnce: MOST_CALLS_AT_ONCE,
      join: (embedded: readonly EmbeddedBatch[]) => writeEmbeddingsAnswer(embedded, request, endpoint),
    };
    // The first embedding model of the family, and all models before it, use the prediction API.
    if (!readsPurposes(endpoint)) {
      const ask = (texts: readonly string[], one: UpstreamCall) => this.#predict(texts, request, one);
      const inputsOf = ({ length }: readonly string[]): number => length;
      return await callInOrder({ ...split, items: textBatches(request, endpoint), inputsOf, ask }, call);
    }
    const ask = (parts: readonly WirePart[], one: UpstreamCall) => this.#embedContent(parts, request, one);
    return await callInOrder({ ...split, items: request.inputs, inputsOf: () => 1, ask }, call);
  }

  async #embedContent(
    parts: readonly WirePart[],
    { dimensions }: EmbeddingsRequest,
    call: UpstreamCall,
  ): Promise<EmbeddedBatch> {
    const { endpoint } = call;
    const embedContentConfig = defined({ outputDimensionality: dimensions });
    const body = Buffer.from(JSON.stringify({ content: { role: 'user', parts }, embedContentConfig }));
    const result = await this.#request(`${vertexModelName(endpoint, 'google')}:embedContent`, { ...call, body });
    const answer = parseEmbeddingsAnswer(result, endpoint);
    return {
      vectors: [vectorOf(answer['embedding'], endpoint)],
      ...tokensOf(answer),
    };
  }

  async #predict(
    texts: readonly string[],
    { dimensions, taskType }: EmbeddingsRequest,
    call: UpstreamCall,
  ): Promise<EmbeddedBatch> {
    const { endpoint } = call;
    const instances = texts.map((content) => defined({ content, task_type: taskType }));
    // By default the upstream cuts a text that is too long and embeds only its beginning.
    const parameters = defined({ autoTruncate: false, outputDimensionality: dimensions });
    const body = Buffer.from(JSON.stringify({ instances, parameters }));
    const result = await this.#request(`${vertexModelName(endpoint, 'google')}:predict`, { ...call, body });
    const predictions = objectsOf(parseEmbeddingsAnswer(result, endpoint)['predictions']);
    const embeddings = predictions.map((prediction) => objectOf(prediction['embeddings']));
    return {
      vectors: embeddings.map((embedding) => vectorOf(embedding, endpoint)),
      promptTokens: embeddings.reduce<number | null>((sum, { statistics }) => {
        const tokens = numberOf(objectOf(statistics)['token_count']);
        return sum === null || tokens === undefined ? null : sum + tokens;
      }, 0),
    };
  }

  async #request(name: string, call: UpstreamCall): Promise<UpstreamResult> {
    const { credential, apiKey, resource } = await this.#access.open(call);
    return this.#rest.request(`${resource}/${name}`, credential, { ...call, apiKey });
  }

  async #stream(name: string, call: UpstreamCall): Promise<UpstreamStream> {
    const { credential, apiKey, resource } = await this.#access.open(call);
    return this.#rest.stream(`${resource}/${name}`, credential, { ...call, apiKey });
  }
}

function inTier(call: UpstreamCall): UpstreamCall {
  return { ...call, headers: { ...call.headers, ...tierHeader(TIER_HEADER, call.endpoint) } };
}

/** Returns a Messages request of Anthropic's API in the form that Vertex AI accepts. */
function asPrediction(body: Buffer, remove: readonly string[]): Buffer {
  return spliceMembers(withPlacedMark(body), { set: { anthropic_version: ANTHROPIC_VERSION }, remove });
}

function textBatches({ inputs }: EmbeddingsRequest, endpoint: Endpoint): string[][] {
  const { mostInputs, mostBytes } = embeddingsLimitsAt(endpoint);
  return batchesOf(inputs.map(textOf), mostInputs, mostBytes, (text) => Buffer.byteLength(text));
}
