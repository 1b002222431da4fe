import { numberOf, objectOf, stringOf } from '@libs/json';
import type { Endpoint } from '../../catalogue/catalogue';
import type { EmbeddingsLimits } from './batches';

/**
 * How an embeddings endpoint differs from OpenAI's, in the catalogue under `capabilities: { embeddings: { … } }`.
 */
export interface EmbeddingsTraits {
  /** `dimensions: [256, 512]` for the sizes that can be chosen, `false` for none; null where the upstream judges. */
  readonly dimensions: readonly unknown[] | null;
  /** `dimensions_member`: what the upstream calls `dimensions`. */
  readonly dimensionsMember: string;
  /** `refuses: [input_type]`: members for which the upstream would refuse the request. */
  readonly refuses: readonly string[];
  /** `sets: { truncation: false }`: members that every request has. */
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

/** The shortest tokens of texts have two bytes. */
const BYTES_PER_TOKEN = 2;

/** `max_inputs: 1000`, `max_request_tokens: 120000`: what the upstream embeds in one request at most; null where it does not say. */
export function embeddingsLimitsOf({ capabilities }: Endpoint): EmbeddingsLimits | null {
  const { max_inputs: inputs, max_request_tokens: tokens } = objectOf(capabilities['embeddings']);
  const mostInputs = numberOf(inputs) ?? Number.POSITIVE_INFINITY;
  const mostBytes = BYTES_PER_TOKEN * (numberOf(tokens) ?? Number.POSITIVE_INFINITY);
  return Math.min(mostInputs, mostBytes) === Number.POSITIVE_INFINITY ? null : { mostInputs, mostBytes };
}
