import type { Endpoint } from '../../catalogue/catalogue';
import type { UpstreamResult } from '../../wire/upstream-call';
import { base64OfVector } from './vectors';

/** What one call of an upstream that speaks another dialect brought. */
export interface EmbeddedBatch {
  /** One per input, in order; the reader of the answer refuses one that is no list of numbers. */
  readonly vectors: readonly unknown[];
  /** Null where the upstream does not count. */
  readonly promptTokens: number | null;
}

/** The batches of all calls, in order, as one OpenAI-shaped answer; without a usage unless all of them count. */
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
  const usage = tokens === null ? {} : { usage: { prompt_tokens: tokens, total_tokens: tokens } };
  const answer = { object: 'list', data, model: upstreamModel, ...usage };
  return { status: 200, body: Buffer.from(JSON.stringify(answer)) };
}

/** Returns a vector as base64; a value that is no list of numbers stays as it is, to be refused later. */
function toBase64(vector: unknown): unknown {
  const isVector = Array.isArray(vector) && vector.every((value) => typeof value === 'number');
  return isVector ? base64OfVector(vector) : vector;
}
