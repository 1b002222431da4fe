import { MalformedJson, numberOf, objectOf, objectsOf, parseJson, stringOf, type JsonObject } from '@libs/json';
import type { Endpoint } from '../../catalogue/catalogue';
import type { UpstreamResult } from '../../wire/upstream-call';
import { brokenAnswer } from '../../wire/upstream-error';
import type { EmbeddedBatch } from '../openai-embeddings/answer-writer';

/** Parses the upstream's answer. @throws AppError provider_unavailable if it is not a JSON object */
export function parseEmbeddingsAnswer({ body }: UpstreamResult, { provider }: Endpoint): JsonObject {
  try {
    return objectOf(parseJson(body));
  } catch (thrown) {
    if (thrown instanceof MalformedJson) throw brokenAnswer(provider, 'the answer is not JSON', thrown);
    throw thrown;
  }
}

const DETAILS = new Map([
  ['AUDIO', 'audio_tokens'],
  ['IMAGE', 'image_tokens'],
  ['VIDEO', 'video_tokens'],
]);

/** Returns the tokens that an answer counts; the two APIs have different names for the details. */
export function tokensOf({ usageMetadata }: JsonObject): Pick<EmbeddedBatch, 'promptTokens' | 'details'> {
  const reported = objectOf(usageMetadata);
  const details: Record<string, number> = {};
  for (const { modality, tokenCount } of objectsOf(reported['promptTokenDetails'] ?? reported['promptTokensDetails'])) {
    const name = DETAILS.get(stringOf(modality) ?? '');
    const tokens = numberOf(tokenCount) ?? 0;
    if (name !== undefined && tokens > 0) details[name] = (details[name] ?? 0) + tokens;
  }
  return { promptTokens: numberOf(reported['promptTokenCount']) ?? null, details };
}

/** Returns the numbers of an embedding. @throws AppError provider_unavailable if it has none */
export function vectorOf(embedding: unknown, { provider }: Endpoint): readonly number[] {
  const { values } = objectOf(embedding);
  if (Array.isArray(values) && values.every((value) => typeof value === 'number')) return values;
  throw brokenAnswer(provider, 'an embedding has no values');
}
