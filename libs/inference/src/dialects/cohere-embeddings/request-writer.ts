import { AppError } from '@libs/errors';
import { batchesOf } from '../../wire/ordered-calls';
import { brokenAnswer, errorInside, readComplaint } from '../../wire/upstream-error';
import type { Provider } from '../../catalogue/catalogue';
import { JsonCursor } from '../../json/json-cursor';
import { MalformedJson } from '../../json/json-grammar';
import { parseJson } from '../../json/json-value';
import { defined, objectOf, objectsOf, stringOf, type JsonObject } from '../../json/loose-values';

/** What the upstream takes in one call. */
const MOST_INPUTS = 96;

/**
 * The upstream must know what the vectors are for, OpenAI's API has no such question. Most vectors are made
 * to be found, so this is what they are taken for.
 */
const DEFAULT_INPUT_TYPE = 'search_document';

/** The words of other providers for the same purposes, in lower case. */
const INPUT_TYPES: Readonly<Record<string, string>> = {
  document: 'search_document',
  passage: 'search_document',
  retrieval_document: 'search_document',
  'retrieval.passage': 'search_document',
  query: 'search_query',
  retrieval_query: 'search_query',
  'retrieval.query': 'search_query',
};

/** What vectors are for, in the upstream's words; what nobody knows is for the upstream to judge. */
export function toInputType(asked: string = DEFAULT_INPUT_TYPE): string {
  const word = asked.toLowerCase();
  return Object.hasOwn(INPUT_TYPES, word) ? INPUT_TYPES[word]! : asked;
}

/** The body of one `POST /v2/embed`, and for how many vectors it asks. */
export interface EmbedBatch {
  readonly body: Buffer;
  readonly inputs: number;
}

/**
 * An OpenAI-shaped embeddings body as the calls it takes, in order.
 *
 * Vectors are always asked for as numbers: what base64 of the upstream holds is not documented to the bit.
 * Nothing is ever cut off: an input that is too long is an error here as it is elsewhere.
 *
 * @throws AppError invalid_request for inputs that the upstream has no form for
 */
export function toEmbedBatches(body: Buffer): readonly EmbedBatch[] {
  const { model, input, input_type: inputType, dimensions } = objectOf(parseJson(body));
  const settings = {
    model,
    input_type: toInputType(stringOf(inputType)),
    embedding_types: ['float'],
    ...(typeof dimensions === 'number' && { output_dimension: dimensions }),
    truncate: 'NONE',
  };
  const inputs = typeof input === 'string' ? [input] : (input as readonly unknown[]);
  const isText = typeof inputs[0] === 'string';
  const written = isText ? inputs : inputs.map(toContent);
  return batchesOf(written, MOST_INPUTS).map((some) => {
    const text = JSON.stringify({ ...settings, [isText ? 'texts' : 'inputs']: some });
    return { body: Buffer.from(text), inputs: some.length };
  });
}

function toContent(input: unknown, index: number): object {
  const { content } = objectOf(input);
  if (!Array.isArray(content)) throw refuse('input', 'cannot be token ids for this model: send the text itself');
  return { content: objectsOf(content).map((part, at) => toPart(part, `input[${index}].content[${at}]`)) };
}

function toPart(part: JsonObject, path: string): object {
  if (part['type'] === 'text') return { type: 'text', text: part['text'] };
  if (part['type'] !== 'image_url') throw refuse(`${path}.type`, 'must be text or image_url for this model');
  const { url } = objectOf(part['image_url']);
  const isData = typeof url === 'string' && /^data:/i.test(url);
  if (!isData) throw refuse(`${path}.image_url.url`, 'must be a data URL for this model');
  return { type: 'image_url', image_url: { url } };
}

function refuse(param: string, problem: string): AppError {
  return new AppError('invalid_request', `${param} ${problem}`, { metadata: { param } });
}

/** What one answer holds. Vectors are JSON text as the upstream wrote it. */
interface EmbedAnswer {
  id: string | null;
  readonly vectors: Buffer[];
  textTokens: number | null;
  imageTokens: number | null;
}

/**
 * The answers of all calls, in their order, as one OpenAI-shaped answer with the sum of what was billed.
 *
 * @throws AppError provider_unavailable when one of them is no answer or not of the length that was asked for
 */
export function joinEmbedAnswers(
  answers: readonly Buffer[],
  batches: readonly EmbedBatch[],
  provider: Provider,
): Buffer {
  const read = answers.map((answer) => readOrRefuse(answer, provider));
  if (read.some(({ vectors }, i) => vectors.length !== batches[i]!.inputs)) {
    throw brokenAnswer(provider, 'an answer does not hold one vector for each input');
  }
  const head = defined({ object: 'list', id: read[0]?.id ?? undefined, usage: usageOf(read) });
  const pieces: Buffer[] = [Buffer.from(`${JSON.stringify(head).slice(0, -1)},"data":[`)];
  read
    .flatMap(({ vectors }) => vectors)
    .forEach((vector, index) => {
      const item = `${index === 0 ? '' : ','}{"object":"embedding","index":${index},"embedding":`;
      pieces.push(Buffer.from(item), vector, CLOSE);
    });
  pieces.push(Buffer.from(']}'));
  return Buffer.concat(pieces);
}

const CLOSE = Buffer.from('}');

/** Undefined unless every call was counted. */
function usageOf(answers: readonly EmbedAnswer[]): object | undefined {
  if (answers.some(({ textTokens, imageTokens }) => textTokens === null && imageTokens === null)) return undefined;
  const sum = (name: 'textTokens' | 'imageTokens'): number =>
    answers.reduce((total, answer) => total + (answer[name] ?? 0), 0);
  const [text, image] = [sum('textTokens'), sum('imageTokens')];
  const details = { text_tokens: text, image_tokens: image };
  return { prompt_tokens: text + image, total_tokens: text + image, prompt_tokens_details: details };
}

function readOrRefuse(body: Buffer, provider: Provider): EmbedAnswer {
  try {
    const answer = readAnswer(body);
    if (answer !== null) return answer;
  } catch (thrown) {
    if (thrown instanceof MalformedJson) throw brokenAnswer(provider, 'the answer is not JSON', thrown);
    throw thrown;
  }
  const complaint = readComplaint(body);
  if (complaint.message !== null) throw errorInside(provider, complaint);
  throw brokenAnswer(provider, 'the answer has no embeddings');
}

/** Null when there are no vectors. Throws MalformedJson. */
function readAnswer(body: Buffer): EmbedAnswer | null {
  const cursor = new JsonCursor(body);
  const answer: EmbedAnswer = { id: null, vectors: [], textTokens: null, imageTokens: null };
  let hasVectors = false;
  cursor.readObject((key) => {
    if (key === 'id') answer.id = cursor.readStringOrNull();
    else if (key === 'meta') readMeta(cursor, answer);
    else if (key === 'embeddings' && cursor.isObject()) {
      cursor.readObject((type) => {
        if (type !== 'float' || !cursor.isArray()) return;
        hasVectors = true;
        cursor.readArray(() => {
          const start = cursor.position;
          cursor.skipValue();
          answer.vectors.push(body.subarray(start, cursor.position));
        });
      });
    }
  });
  cursor.expectEnd();
  return hasVectors ? answer : null;
}

function readMeta(cursor: JsonCursor, answer: EmbedAnswer): void {
  if (!cursor.isObject()) return;
  cursor.readObject((key) => {
    if (key !== 'billed_units' || !cursor.isObject()) return;
    cursor.readObject((unit) => {
      if (unit === 'input_tokens') answer.textTokens = cursor.readNumberOrNull();
      else if (unit === 'image_tokens') answer.imageTokens = cursor.readNumberOrNull();
    });
  });
}
