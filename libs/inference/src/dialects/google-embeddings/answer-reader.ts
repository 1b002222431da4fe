import { MalformedJson, parseJson, objectOf, type JsonObject } from '@libs/json';
import type { Endpoint } from '../../catalogue/catalogue';
import type { UpstreamResult } from '../../wire/upstream-call';
import { brokenAnswer } from '../../wire/upstream-error';

/** Parses the upstream's answer. @throws AppError provider_unavailable if it is not a JSON object */
export function parseEmbeddingsAnswer({ body }: UpstreamResult, { provider }: Endpoint): JsonObject {
  try {
    return objectOf(parseJson(body));
  } catch (thrown) {
    if (thrown instanceof MalformedJson) throw brokenAnswer(provider, 'the answer is not JSON', thrown);
    throw thrown;
  }
}

/** Returns the numbers of an embedding. @throws AppError provider_unavailable if it has none */
export function vectorOf(embedding: unknown, { provider }: Endpoint): readonly number[] {
  const { values } = objectOf(embedding);
  if (Array.isArray(values) && values.every((value) => typeof value === 'number')) return values;
  throw brokenAnswer(provider, 'an embedding has no values');
}
