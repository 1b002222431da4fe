import { createHash } from 'node:crypto';

const TOOL_USE_ID = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * The id of a tool's use as Bedrock takes it. Ids of other providers may be longer or hold other characters;
 * theirs are replaced by a hash that is the same for the use and its result.
 */
export function toToolUseId(id: string): string {
  return TOOL_USE_ID.test(id) ? id : `call_${createHash('sha256').update(id).digest('hex').slice(0, 32)}`;
}
