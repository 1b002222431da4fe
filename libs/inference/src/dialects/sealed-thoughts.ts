import { MalformedJson, parseJson, isObject } from '@libs/json';
import type { ReasoningPart } from '../model/conversation';

/**
 * Begins the opaque text of a thought that a caller's API cannot express, such as a thought of Gemini in a thinking block,
 * or one of Claude in a reasoning item. No provider can read it.
 */
export const SEAL_MARK = 'sluice-reasoning-1:';

/** Content of a thought. `shows`: the block shows the summary of the thought in place of its text. */
type Opaque = Omit<ReasoningPart, 'type'> & { readonly shows?: 'summary' };

const TEXT_MEMBERS = ['text', 'summary', 'signature', 'encrypted', 'id', 'format'] as const;

/** Returns the content as one text that callers send back unchanged; empty if there is no content. */
export function seal(opaque: Opaque): string {
  const names = [...TEXT_MEMBERS, 'shows'] as const;
  const members = names.flatMap((name) => (opaque[name] === undefined ? [] : [[name, opaque[name]]]));
  if (members.length === 0) return '';
  return SEAL_MARK + Buffer.from(JSON.stringify(Object.fromEntries(members))).toString('base64');
}

/** Returns the content after `SEAL_MARK`; null for other text. Callers may have changed it, so its types are checked. */
export function unseal(text: string): Opaque | null {
  if (!text.startsWith(SEAL_MARK)) return null;
  const value = parsed(Buffer.from(text.slice(SEAL_MARK.length), 'base64'));
  if (!isObject(value)) return null;
  const members: Record<string, string> = {};
  for (const name of TEXT_MEMBERS) {
    const member = value[name];
    if (typeof member === 'string') members[name] = member;
  }
  return { ...(members as Opaque), ...(value['shows'] === 'summary' && { shows: 'summary' }) };
}

function parsed(text: Buffer): unknown {
  try {
    return parseJson(text);
  } catch (thrown) {
    if (thrown instanceof MalformedJson) return null;
    throw thrown;
  }
}
