import { numberOf, objectOf, stringOf } from '@libs/json';
import type { Endpoint } from '../../catalogue/catalogue';
import type { EmbeddingsLimits } from './batches';

/**
 * Differences of an embeddings endpoint from OpenAI's API; in the catalogue under `capabilities: { embeddings: { … }
 * }`.
 */
export interface EmbeddingsTraits {
  /**
   * `dimensions: [256, 512]`: the vector lengths to choose from; `false`: no choice; null: the upstream validates the
   * request.
   */
  readonly dimensions: readonly unknown[] | null;
  /** `dimensions_member`: what the upstream calls `dimensions`. */
  readonly dimensionsMember: string;
  /** `refuses: [input_type]`: fields for which the upstream refuses a request. */
  readonly refuses: readonly string[];
  /** `sets: { truncation: false }`: fields that are added to every request. */
  readonly sets: Readonly<Record<string, unknown>>;
}

export function embeddingsTraitsOf({ capabilities }: Endpoint): EmbeddingsTraits {
  const { dimensions, dimensions_member: member, refuses, sets } = objectOf(capabilities['embeddings']);
  const offered = Array.isArray(dimensions) ? (dimensions as readonly unknown[]) : null;
  return {
    dimensions: dimensions === false ? [] : offered,
    dimensionsMember: stringOf(member) ?? 'dimensions',
    refuses: Array.isArray(refuses) ? refuses.map(String) : [],
    sets: objectOf(sets),
  };
}

/** Fewest bytes of text per token, for an upper bound of tokens. */
const BYTES_PER_TOKEN = 2;

/**
 * Reads `max_inputs: 1000`, `max_request_tokens: 120000`: the most that the upstream embeds in one request; null if it
 * has no limits.
 */
export function embeddingsLimitsOf({ capabilities }: Endpoint): EmbeddingsLimits | null {
  const { max_inputs: inputs, max_request_tokens: tokens } = objectOf(capabilities['embeddings']);
  const mostInputs = numberOf(inputs) ?? Number.POSITIVE_INFINITY;
  const mostBytes = BYTES_PER_TOKEN * (numberOf(tokens) ?? Number.POSITIVE_INFINITY);
  return Math.min(mostInputs, mostBytes) === Number.POSITIVE_INFINITY ? null : { mostInputs, mostBytes };
}
