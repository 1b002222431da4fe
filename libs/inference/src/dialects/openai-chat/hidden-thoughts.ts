import { parseJson, objectOf } from '@libs/json';
import { memberText, scanRequest } from '../request-members';
import { hidesReasoning } from './request-reader';

/** Members in which a message or delta may have thoughts. */
export const THOUGHT_MEMBERS: readonly string[] = ['reasoning', 'reasoning_content', 'reasoning_details'];

const EXCLUDE = Buffer.from('"exclude"');
const INCLUDE_REASONING = Buffer.from('"include_reasoning"');
/** Members of a request that say whether its caller is shown thoughts. */
export const THOUGHT_WISHES = ['reasoning', 'include_reasoning'] as const;

/**
 * Whether a chat request, as the caller's bytes, asks not to be shown the model's thoughts. Looks for the words
 * first, because few requests have them and an answer should not wait for the others to be read once more.
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
