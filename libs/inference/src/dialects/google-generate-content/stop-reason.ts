import { stringOf, type JsonObject } from '@libs/json';
import type { FinishReason } from '../../model/finish-reason';

/** The upstream's word where it gives no reason. */
const UNSPECIFIED = 'FINISH_REASON_UNSPECIFIED';

/** Finish reasons for answers or prompts that a filter removed, wholly or in part. */
const FILTERED = [
  'SAFETY',
  'RECITATION',
  'LANGUAGE',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
  'MODEL_ARMOR',
  'IMAGE_SAFETY',
  'IMAGE_PROHIBITED_CONTENT',
  'IMAGE_RECITATION',
];

/** Answers that the upstream itself gives up. */
const FAILED = [
  'OTHER',
  'IMAGE_OTHER',
  'NO_IMAGE',
  'MALFORMED_FUNCTION_CALL',
  'MALFORMED_RESPONSE',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
  'MISSING_THOUGHT_SIGNATURE',
];

const BY_WORD: ReadonlyMap<string, FinishReason> = new Map([
  ['MAX_TOKENS', 'length'],
  ...FILTERED.map((word) => [word, 'content_filter'] as const),
  ...FAILED.map((word) => [word, 'error'] as const),
]);

/** Returns the upstream's reason for the end of a candidate; null while there is none. */
export function nativeReasonOf(candidate: JsonObject): string | null {
  const reason = stringOf(candidate['finishReason']);
  return reason && reason !== UNSPECIFIED ? reason : null;
}

/** Returns our finish reason. The upstream reports a plain stop for an answer that ends in tool calls. */
export function finishReasonOf(native: string | null, hasCalls: boolean): FinishReason {
  const known = native === null ? undefined : BY_WORD.get(native);
  return known ?? (hasCalls ? 'tool_calls' : 'stop');
}
