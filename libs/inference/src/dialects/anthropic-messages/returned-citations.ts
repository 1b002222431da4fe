import { JsonCursor, applyEdits, findMember, scanMembersAt, type ByteEdit, type ScannedObject } from '@libs/json';
import { removalsOf } from '../list-removals';
import { memberText } from '../request-members';
import { eachObject, eachReturnedTurn } from './returned-turns';

/** What requests with such citations contain, as clients write JSON. */
const SIGNS: readonly Buffer[] = ['"encrypted_index":""', '"encrypted_index": ""'].map((text) => Buffer.from(text));

/**
 * Returns `messages` without the model's citations of the web that have an empty `encrypted_index`. The gateway wrote
 * them for a model behind another API, or for its own search; a provider of this API cannot find their source. Null if
 * there are none.
 */
export function withoutForeignCitations(messages: Buffer): Buffer | null {
  if (!SIGNS.some((sign) => messages.includes(sign))) return null;
  const edits: ByteEdit[] = [];
  eachReturnedTurn(messages, (message) => {
    const content = listAt(message, 'content');
    if (content !== null) eachObject(content, (block) => edits.push(...removals(block)));
  });
  return edits.length === 0 ? null : applyEdits(messages, edits);
}

function removals(block: ScannedObject): ByteEdit[] {
  const cursor = memberText(block, 'type')?.toString() === '"text"' ? listAt(block, 'citations') : null;
  if (cursor === null) return [];
  const elements: { start: number; end: number; isKept: boolean }[] = [];
  cursor.readArray(() => {
    const start = cursor.position;
    const citation = cursor.isObject() ? scanMembersAt(cursor) : cursor.skipValue();
    elements.push({ start, end: cursor.position, isKept: !(citation && isForeign(citation)) });
  });
  if (elements.every(({ isKept }) => isKept)) return [];
  if (elements.some(({ isKept }) => isKept)) return removalsOf(elements);
  const { valueStart: start, valueEnd: end } = findMember(block, 'citations')!;
  return [{ start, end, text: 'null' }];
}

function isForeign(citation: ScannedObject): boolean {
  return (
    memberText(citation, 'type')?.toString() === '"web_search_result_location"' &&
    memberText(citation, 'encrypted_index')?.toString() === '""'
  );
}

/** Returns a cursor at the list in the field `name`; null if it is not a list. */
function listAt(object: ScannedObject, name: string): JsonCursor | null {
  const member = findMember(object, name);
  if (member === undefined) return null;
  const cursor = new JsonCursor(object.bytes, member.valueStart);
  return cursor.isArray() ? cursor : null;
}
