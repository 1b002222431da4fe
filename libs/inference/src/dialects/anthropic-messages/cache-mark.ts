import {
  JsonCursor,
  applyEdits,
  findMember,
  joinEdits,
  memberEdits,
  scanMembers,
  scanMembersAt,
  type ByteEdit,
  type ScannedObject,
} from '@libs/json';
import { memberText } from '../request-members';

const MARK = 'cache_control';
const MARK_KEY = Buffer.from(`"${MARK}"`);

/** Blocks that may not be marked. */
const UNMARKED = /^"(?:redacted_)?thinking"$/;

/**
 * Moves the cache mark of a whole messages request to its last block, which has the same effect. Anthropic accepts a
 * mark on the request; the clouds that serve its models refuse it.
 * @throws MalformedJson if the body is not a JSON object
 */
export function withPlacedMark(body: Buffer): Buffer {
  if (!body.includes(MARK_KEY)) return body;
  const request = scanMembers(body);
  const mark = memberText(request, MARK);
  if (mark === undefined) return body;
  const isMark = new JsonCursor(mark).isObject();
  const placed = isMark ? placedMark(request, mark) : [];
  return applyEdits(body, joinEdits(memberEdits(request, { remove: [MARK] }), placed));
}

function placedMark(request: ScannedObject, mark: Buffer): readonly ByteEdit[] {
  const message = lastObject(request, 'messages');
  const content = message && findMember(message, 'content');
  if (content === undefined) return [];
  const { valueStart: start, valueEnd: end } = content;
  if (new JsonCursor(request.bytes, start).isString()) {
    const said = request.bytes.subarray(start, end);
    const block = ['[{"type":"text","text":', said, `,"${MARK}":`, mark, '}]'].map((each) => Buffer.from(each));
    return said.length === '""'.length ? [] : [{ start, end, text: Buffer.concat(block) }];
  }
  const block = lastObject(message!, 'content');
  if (block === undefined || findMember(block, MARK) || !isMarkable(block)) return [];
  return memberEdits(block, { set: { [MARK]: mark } });
}

function isMarkable(block: ScannedObject): boolean {
  return (
    !UNMARKED.test(memberText(block, 'type')?.toString() ?? '') && memberText(block, 'text')?.length !== '""'.length
  );
}

/** Returns the last element of a list if it is an object. */
function lastObject(owner: ScannedObject, name: string): ScannedObject | undefined {
  const list = findMember(owner, name);
  const cursor = list && new JsonCursor(owner.bytes, list.valueStart);
  let last: ScannedObject | undefined;
  if (!cursor?.isArray()) return undefined;
  cursor.readArray(() => {
    last = undefined;
    if (cursor.isObject()) last = scanMembersAt(cursor);
    else cursor.skipValue();
  });
  return last;
}
