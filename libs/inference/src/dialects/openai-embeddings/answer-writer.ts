import type { Endpoint } from '../../catalogue/catalogue';
import type { UpstreamResult } from '../../wire/upstream-call';
import { base64OfVector } from './vectors';

/** Result of one call to an upstream that has another embeddings API. */
export interface EmbeddedBatch {
  /** One vector per input, in order; the code that reads the answer refuses a vector that is not a list of numbers. */
  readonly vectors: readonly unknown[];
  /** Null if the upstream does not count tokens. */
  readonly promptTokens: number | null;
  /** The parts of `promptTokens` that are not text, by the names that usage objects have for them. */
  readonly details?: Readonly<Record<string, number>>;
}

/**
 * Writes the results of all calls, in order, as one answer in OpenAI's form. Leaves out the usage unless every result
 * has one.
 */
export function writeEmbeddingsAnswer(
  batches: readonly EmbeddedBatch[],
  { isBase64 }: { readonly isBase64: boolean },
  { upstreamModel }: Endpoint,
): UpstreamResult {
  const data = batches
    .flatMap(({ vectors }) => vectors)
    .map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: isBase64 ? toBase64(vector) : vector,
    }));
  const tokens = batches.reduce<number | null>(
    (sum, { promptTokens }) => (sum === null || promptTokens === null ? null : sum + promptTokens),
    0,
  );
  const details = sumOfDetails(batches);
  const usage = tokens === null ? {} : { usage: { prompt_tokens: tokens, total_tokens: tokens, ...details } };
  const answer = { object: 'list', data, model: upstreamModel, ...usage };
  return { status: 200, body: Buffer.from(JSON.stringify(answer)) };
}

function sumOfDetails(batches: readonly EmbeddedBatch[]): { prompt_tokens_details?: Record<string, number> } {
  const sums: Record<string, number> = {};
  for (const [name, tokens] of batches.flatMap(({ details = {} }) => Object.entries(details))) {
    sums[name] = (sums[name] ?? 0) + tokens;
  }
  return Object.keys(sums).length === 0 ? {} : { prompt_tokens_details: sums };
}

/** Returns a vector as base64. A value that is not a list of numbers is returned unchanged and refused later. */
function toBase64(vector: unknown): unknown {
  const isVector = Array.isArray(vector) && vector.every((value) => typeof value === 'number');
  return isVector ? base64OfVector(vector) : vector;
}
