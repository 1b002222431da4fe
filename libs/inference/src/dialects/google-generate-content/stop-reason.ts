import type { FinishReason } from '../../model/finish-reason';

/** Filters that took an answer or a prompt away, wholly or in part. */
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

/** Our word for the upstream's own one, which calls an end in calls of tools a plain stop. */
export function finishReasonOf(native: string | null, hasCalls: boolean): FinishReason {
  const known = native === null ? undefined : BY_WORD.get(native);
  return known ?? (hasCalls ? 'tool_calls' : 'stop');
}
