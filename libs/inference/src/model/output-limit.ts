import type { JsonObject } from '@libs/json';
import type { Endpoint } from '../catalogue/catalogue-entries';

/** Returns the most output tokens that an endpoint produces; null if the catalogue does not state it. */
export function outputLimitOf({
  maxCompletionTokens,
  contextLength,
}: Pick<Endpoint, 'maxCompletionTokens' | 'contextLength'>): number | null {
  return maxCompletionTokens ?? contextLength;
}

/** Fields that cap an answer, in all APIs; if two are set, the first counts. */
const CAPS = ['max_completion_tokens', 'max_output_tokens', 'max_tokens'] as const;

/** Returns the name of the field that caps a request's answer, in any API. */
export function outputCapMember(body: JsonObject): string {
  return CAPS.find((name) => typeof body[name] === 'number') ?? 'max_tokens';
}
