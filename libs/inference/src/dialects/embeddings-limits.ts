import type { Endpoint } from '../catalogue/catalogue';
import { modelsOf } from './bedrock-embeddings/traits';
import { readsPurposes } from './google-embeddings/request-writer';
import type { EmbeddingsLimits } from './openai-embeddings/batches';
import { embeddingsLimitsOf } from './openai-embeddings/traits';

const NO_LIMIT = Number.POSITIVE_INFINITY;
const NO_LIMITS: EmbeddingsLimits = { mostInputs: NO_LIMIT, mostBytes: NO_LIMIT };

/** Most inputs and bytes of one call, by protocol; others say it in the catalogue. */
const LIMITS: Readonly<Record<string, (endpoint: Endpoint) => EmbeddingsLimits>> = {
  bedrock: (endpoint) => ({ ...NO_LIMITS, mostInputs: modelsOf(endpoint).mostTexts }),
  cohere: () => ({ ...NO_LIMITS, mostInputs: 96 }),
  google: () => ({ ...NO_LIMITS, mostInputs: 100 }),
  // The upstream allows 20,000 tokens, and a token has at least two bytes.
  'google-vertex': (endpoint) => ({ mostInputs: mostAtVertex(endpoint), mostBytes: 40_000 }),
  // The upstream allows 16,384 tokens, and a token has at least two bytes.
  mistral: () => ({ mostInputs: 256, mostBytes: 32_768 }),
};

function mostAtVertex(endpoint: Endpoint): number {
  const isSingleTextModel = readsPurposes(endpoint) || endpoint.upstreamModel.includes('gemini-embedding-001');
  return isSingleTextModel ? 1 : 250;
}

/** Returns the most that the endpoint embeds in one call. */
export function embeddingsLimitsAt(endpoint: Endpoint): EmbeddingsLimits {
  return LIMITS[endpoint.provider.protocol]?.(endpoint) ?? embeddingsLimitsOf(endpoint) ?? NO_LIMITS;
}

/**
 * Returns the most calls into which the endpoint's adapter splits so many inputs of a body of so many bytes. A call
 * ends with its last allowed input, or has together with the next one more bytes than one call takes.
 */
export function embeddingsCallsAt(endpoint: Endpoint, inputs: number, bodyBytes: number): number {
  const { mostInputs, mostBytes } = embeddingsLimitsAt(endpoint);
  const full = Math.floor(Math.max(0, inputs - 1) / mostInputs);
  const long = bodyBytes <= mostBytes ? 0 : Math.floor((2 * bodyBytes) / mostBytes);
  return Math.max(1, Math.min(inputs, full + long + 1));
}
