import type { JsonObject } from '@libs/json';
import type { Endpoint } from '../catalogue/catalogue-entries';

/** Returns the most output tokens that an endpoint gives; null where the catalogue does not say. */
export function outputLimitOf({
  maxCompletionTokens,
  contextLength,
}: Pick<Endpoint, 'maxCompletionTokens' | 'contextLength'>): number | null {
  return maxCompletionTokens ?? contextLength;
}

/** Members that cap an answer, in all APIs; of two the first counts. */
const CAPS = ['max_completion_tokens', 'max_output_tokens', 'max_tokens'] as const;

/** Returns the member of a request, in any API, that caps its answer. */
export function outputCapMember(body: JsonObject): string {
  return CAPS.find((name) => typeof body[name] === 'number') ?? 'max_tokens';
}
