import {
  JsonCursor,
  MalformedJson,
  spliceMembers,
  type ScannedObject,
  parseJson,
  defined,
  numberOf,
  objectOf,
  stringOf,
  type JsonObject,
} from '@libs/json';
import type { Provider } from '../../catalogue/catalogue';
import { batchesOf } from '../../wire/ordered-calls';
import { brokenAnswer, notAnswered } from '../../wire/upstream-error';
import { memberText, scanRequest } from '../request-members';

/** Limits of an upstream for one call. */
export interface EmbeddingsLimits {
  readonly mostInputs: number;
  /** Most bytes of all inputs together, as JSON. */
  readonly mostBytes: number;
}

/** One of the calls into which a list of inputs is split. */
export interface EmbeddingsBatch {
  readonly body: Buffer;
  readonly inputs: number;
}

/** Splits a body in OpenAI's form into the calls that it needs, in order; null if one call is enough. */
export function splitEmbeddings(
  body: Buffer,
  { mostInputs, mostBytes }: EmbeddingsLimits,
): readonly EmbeddingsBatch[] | null {
  // Each input takes at least two bytes, and one more for the comma after it.
  if (body.length <= Math.min(3 * mostInputs, mostBytes)) return null;
  const request = scanRequest(body);
  const batches = batchesOf(inputsOf(request), mostInputs, mostBytes, ({ length }) => length);
  if (batches.length <= 1) return null;
  return batches.map((some) => ({
    body: spliceMembers(request, { set: { input: listOf(some) } }),
    inputs: some.length,
  }));
}

const OPEN = Buffer.from('[');
const CLOSE = Buffer.from(']');
const COMMA = Buffer.from(',');

/** Returns the inputs of a list as JSON texts; none if the input is one text or one list of token ids. */
export function inputsOf(request: ScannedObject): readonly Buffer[] {
  const list = memberText(request, 'input');
  if (list === undefined) return [];
  const cursor = new JsonCursor(list);
  if (!cursor.isArray() || cursor.readNumbers() !== null) return [];
  cursor.position = 0;
  const inputs: Buffer[] = [];
  cursor.readArray(() => {
    const start = cursor.position;
    cursor.skipValue();
    inputs.push(list.subarray(start, cursor.position));
  });
  return inputs;
}

/** Returns a list of JSON texts. */
export function listOf(values: readonly Buffer[]): Buffer {
  return Buffer.concat([OPEN, joined(values), CLOSE]);
}

function joined(values: readonly Buffer[]): Buffer {
  return Buffer.concat(values.flatMap((value, index) => (index === 0 ? [value] : [COMMA, value])));
}

/** Result of one of the calls. */
export interface BatchAnswer {
  /** The vectors as JSON text. */
  readonly vectors: readonly Buffer[];
  readonly rest: JsonObject;
}

/** Joins the answers of several calls, in order, and adds up their usage. */
export function joinEmbeddings(answers: readonly BatchAnswer[]): Buffer {
  const { id, model } = answers[0]!.rest;
  const head = defined({ object: 'list', id: stringOf(id), model: stringOf(model), usage: sumOfUsage(answers) });
  const items = answers
    .flatMap(({ vectors }) => vectors)
    .map((vector, index) =>
      Buffer.concat([Buffer.from(`{"object":"embedding","index":${index},"embedding":`), vector, END]),
    );
  return Buffer.concat([Buffer.from(`${JSON.stringify(head).slice(0, -1)},"data":[`), joined(items), CLOSE, END]);
}

const END = Buffer.from('}');

/** Reads an answer. @throws AppError without a vector for each input: provider_unavailable, or its own error */
export function readBatchAnswer(answer: Buffer, inputs: number, provider: Provider): BatchAnswer {
  try {
    const { vectors, rest, isOrdered } = readAnswer(answer);
    if (isOrdered && vectors.length === inputs) return { vectors, rest };
  } catch (thrown) {
    if (thrown instanceof MalformedJson) throw brokenAnswer(provider, 'the answer is not JSON', thrown);
    throw thrown;
  }
  throw notAnswered(provider, answer, 'an answer does not hold one vector for each input');
}

function readAnswer(answer: Buffer): BatchAnswer & { readonly isOrdered: boolean } {
  const cursor = new JsonCursor(answer);
  const vectors: Buffer[] = [];
  const rest: Record<string, unknown> = {};
  let isOrdered = true;
  cursor.readObject((key) => {
    if (key === 'data' && cursor.isArray()) {
      cursor.readArray((position) => {
        if (!cursor.isObject()) return;
        const index = readItem(cursor, vectors);
        isOrdered &&= index === null || index === position;
      });
      return;
    }
    const start = cursor.position;
    cursor.skipValue();
    rest[key] = parseJson(answer.subarray(start, cursor.position));
  });
  return { vectors, rest, isOrdered };
}

/** Reads one item: adds its vector, and returns the upstream's index or null. */
function readItem(cursor: JsonCursor, vectors: Buffer[]): number | null {
  let index: number | null = null;
  cursor.readObject((key) => {
    if (key === 'index') index = cursor.readNumberOrNull();
    if (key !== 'embedding') return;
    const start = cursor.position;
    cursor.skipValue();
    vectors.push(cursor.bytes.subarray(start, cursor.position));
  });
  return index;
}

/** Undefined unless every call was counted. */
function sumOfUsage(answers: readonly BatchAnswer[]): JsonObject | undefined {
  const usages = answers.map(({ rest }) => objectOf(rest['usage']));
  const names = Object.keys(usages[0]!).filter((name) => usages.every((usage) => numberOf(usage[name]) !== undefined));
  if (names.length === 0) return undefined;
  return { ...sumsOf(names, usages), ...sumOfDetails(usages) };
}

/** A call without a kind of tokens, such as one without pictures, may leave out that kind, or all details. */
function sumOfDetails(usages: readonly JsonObject[]): JsonObject {
  const details = usages.map((usage) => objectOf(usage[DETAILS]));
  const names = details.flatMap(Object.keys).filter((name) => details.some((one) => numberOf(one[name]) !== undefined));
  return names.length === 0 ? {} : { [DETAILS]: sumsOf(new Set(names), details) };
}

const DETAILS = 'prompt_tokens_details';

function sumsOf(names: Iterable<string>, counts: readonly JsonObject[]): JsonObject {
  const sum = (name: string): number => counts.reduce((total, one) => total + (numberOf(one[name]) ?? 0), 0);
  return Object.fromEntries([...names].map((name) => [name, sum(name)]));
}
