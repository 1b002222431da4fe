import { parseJson, objectOf } from '@libs/json';
import { memberText, scanRequest } from '../request-members';
import { hidesReasoning } from './request-reader';

/** Fields in which a message or delta may hold thoughts. */
export const THOUGHT_MEMBERS: readonly string[] = ['reasoning', 'reasoning_content', 'reasoning_details'];

const EXCLUDE = Buffer.from('"exclude"');
const INCLUDE_REASONING = Buffer.from('"include_reasoning"');
/** Request fields that state whether the caller wants to see thoughts. */
export const THOUGHT_WISHES = ['reasoning', 'include_reasoning'] as const;

/**
 * Returns whether the bytes of a chat request ask to hide the model's thoughts. Searches for the field names first: few
 * requests have them, so most are not parsed a second time.
 */
export function hidesThoughts(requestBody: Buffer): boolean {
  if (!requestBody.includes(EXCLUDE) && !requestBody.includes(INCLUDE_REASONING)) return false;
  const request = scanRequest(requestBody);
  const members = THOUGHT_WISHES.flatMap((name) => {
    const text = memberText(request, name);
    return text === undefined ? [] : [[name, parseJson(text)] as const];
  });
  return hidesReasoning(objectOf(Object.fromEntries(members)));
}
