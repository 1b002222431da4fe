import { CheckedObject } from '../checked-object';
import { toInputType } from '../cohere-embeddings/request-writer';
import { parseJson } from '../../json/json-value';
import { MalformedJson } from '../../json/json-grammar';
import { defined, numberOf, objectOf, objectsOf, stringOf, type JsonObject } from '../../json/loose-values';
import { base64OfVector } from '../openai-embeddings/vectors';
import { batchesOf, callInOrder } from '../../wire/ordered-calls';
import type { UpstreamCall, UpstreamResult } from '../../wire/upstream-call';
import { brokenAnswer } from '../../wire/upstream-error';
import type { UpstreamReply } from '../../wire/upstream-exchange';

/** Calls of one request that are in flight at a time. */
const MOST_AT_A_TIME = 8;
const TOKENS_HEADER = 'x-amzn-bedrock-input-token-count';

interface Wanted {
  readonly dimensions: number | undefined;
  readonly inputType: string | undefined;
}

interface Embedded {
  /** One per text, in order; what is no list of numbers is refused where the answer is read. */
  readonly vectors: readonly unknown[];
  /** Null where the model does not count. */
  readonly tokens: number | null;
}

/** How the models of one maker are asked. */
interface EmbeddingModels {
  readonly mostTexts: number;
  write(texts: readonly string[], wanted: Wanted): object;
  read(answer: JsonObject): readonly unknown[];
}

const TITAN: EmbeddingModels = {
  mostTexts: 1,
  write: ([inputText], { dimensions }) => defined({ inputText, dimensions }),
  read: ({ embedding }) => [embedding],
};

/** Nova's words for the purposes that Cohere has names for. */
const NOVA_PURPOSES: Readonly<Record<string, string>> = {
  search_document: 'GENERIC_INDEX',
  search_query: 'GENERIC_RETRIEVAL',
  classification: 'CLASSIFICATION',
  clustering: 'CLUSTERING',
};

function toNovaPurpose(inputType: string | undefined): string {
  const purpose = toInputType(inputType);
  return Object.hasOwn(NOVA_PURPOSES, purpose) ? NOVA_PURPOSES[purpose]! : purpose;
}

const NOVA: EmbeddingModels = {
  mostTexts: 1,
  write: ([value], { dimensions, inputType }) => ({
    taskType: 'SINGLE_EMBEDDING',
    singleEmbeddingParams: defined({
      embeddingPurpose: toNovaPurpose(inputType),
      embeddingDimension: dimensions,
      text: { truncationMode: 'NONE', value },
    }),
  }),
  read: ({ embeddings }) => objectsOf(embeddings).map(({ embedding }) => embedding),
};

const COHERE: EmbeddingModels = {
  mostTexts: 96,
  write: (texts, { dimensions, inputType }) =>
    defined({
      texts,
      input_type: toInputType(inputType),
      truncate: 'NONE',
      embedding_types: ['float'],
      output_dimension: dimensions,
    }),
  read: ({ embeddings }) => {
    const vectors = Array.isArray(embeddings) ? embeddings : objectOf(embeddings)['float'];
    return Array.isArray(vectors) ? vectors : [];
  },
};

const MODELS: readonly (readonly [id: RegExp, models: EmbeddingModels])[] = [
  [/(^|[./])cohere\./, COHERE],
  [/(^|[./])amazon\.nova-/, NOVA],
];

/**
 * Embeds every text of a request in OpenAI's shape, with as many calls as the model needs, and answers in that
 * shape. The first call that fails ends the others.
 *
 * @throws AppError invalid_request for an input that is not text
 */
export async function embedEach(
  call: UpstreamCall,
  invoke: (call: UpstreamCall) => Promise<UpstreamReply>,
): Promise<UpstreamResult> {
  const { upstreamModel } = call.endpoint;
  const models = MODELS.find(([id]) => id.test(upstreamModel))?.[1] ?? TITAN;
  const request = objectOf(parseJson(call.body));
  const texts = textsOf(request);
  const wanted = { dimensions: numberOf(request['dimensions']), inputType: stringOf(request['input_type']) };
  const batches = batchesOf(texts, models.mostTexts);
  const embedded = await callInOrder(batches, call, MOST_AT_A_TIME, async (batch, one) => {
    const body = Buffer.from(JSON.stringify(models.write(batch, wanted)));
    return readReply(await invoke({ ...one, body }), models, call);
  });
  return { status: 200, body: Buffer.from(JSON.stringify(answerOf(embedded, request, upstreamModel))) };
}

function textsOf(request: JsonObject): readonly string[] {
  const { input } = request;
  const texts: unknown = typeof input === 'string' ? [input] : input;
  if (Array.isArray(texts) && texts.every((text) => typeof text === 'string')) return texts;
  throw new CheckedObject(request).refuse('input', 'must be text: this model takes no tokens');
}

function readReply({ body, headers }: UpstreamReply, models: EmbeddingModels, { endpoint }: UpstreamCall): Embedded {
  try {
    const answer = objectOf(parseJson(body));
    const counted = Number(headers[TOKENS_HEADER] ?? Number.NaN);
    const tokens = numberOf(answer['inputTextTokenCount']) ?? (Number.isSafeInteger(counted) ? counted : null);
    return { vectors: models.read(answer), tokens };
  } catch (thrown) {
    if (thrown instanceof MalformedJson) throw brokenAnswer(endpoint.provider, 'the answer is not JSON', thrown);
    throw thrown;
  }
}

function answerOf(embedded: readonly Embedded[], request: JsonObject, model: string): object {
  const isBase64 = request['encoding_format'] === 'base64';
  const vectors = embedded.flatMap((each) => each.vectors);
  const tokens = embedded.reduce<number | null>(
    (sum, each) => (sum === null || each.tokens === null ? null : sum + each.tokens),
    0,
  );
  return {
    object: 'list',
    data: vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: isBase64 ? toBase64(vector) : vector,
    })),
    model,
    ...(tokens !== null && { usage: { prompt_tokens: tokens, total_tokens: tokens } }),
  };
}

/** What is no list of numbers stays as it is, to be refused. */
function toBase64(vector: unknown): unknown {
  const isVector = Array.isArray(vector) && vector.every((value) => typeof value === 'number');
  return isVector ? base64OfVector(vector) : vector;
}
