import { JsonCursor } from './json-cursor';
import { applyEdits, removal, type ByteEdit, type JsonMember } from './json-members';

/** Most fields of an object that are watched. The few objects with more are checked again, name by name. */
const MOST_WATCHED = 64;
/** Hashes of the names of the open objects, by depth, then in order. Shared, because a scan never calls back. */
const hashes = new Int32Array(65 * MOST_WATCHED);

/**
 * Notes during a scan whether an object may contain a name twice: it has two names with the same hash, a name with an
 * escape, or more fields than are watched. An ordinary body costs only some hashes and comparisons of numbers.
 */
export class NameWatch {
  mayNameTwice = false;

  constructor(private readonly bytes: Buffer) {}

  /**
   * Notes the name between these offsets.
   * @param index of the field in the object that is open at this depth
   */
  enter(depth: number, index: number, start: number, end: number): void {
    if (this.mayNameTwice) return;
    if (index >= MOST_WATCHED) {
      this.mayNameTwice = true;
      return;
    }
    const first = depth * MOST_WATCHED;
    const hash = hashOf(this.bytes, start, end);
    for (let at = first + index - 1; at >= first; at -= 1) if (hashes[at] === hash) this.mayNameTwice = true;
    hashes[first + index] = hash;
  }
}

function hashOf(bytes: Buffer, start: number, end: number): number {
  let hash = 0;
  for (let at = start; at < end; at += 1) hash = (Math.imul(hash, 31) + bytes[at]!) | 0;
  return hash;
}

/**
 * Returns the object with only the last field of every repeated name, at every depth, as JSON.parse reads it; the same
 * bytes if no name is repeated. A provider's parser may use the first, which the gateway has not checked. Throws
 * MalformedJson.
 */
export function withoutDoubledNames(object: Buffer): Buffer {
  const cursor = new JsonCursor(object);
  const edits = editsOf(cursor);
  cursor.expectEnd();
  return edits.length === 0 ? object : applyEdits(object, edits);
}

const NO_EDITS: readonly ByteEdit[] = [];

/** Returns the edits of the value at the cursor, in order. The cursor limits the depth. */
function editsOf(cursor: JsonCursor): readonly ByteEdit[] {
  if (cursor.isObject()) return editsOfObject(cursor);
  if (!cursor.isArray()) {
    cursor.skipValue();
    return NO_EDITS;
  }
  const edits: ByteEdit[] = [];
  cursor.readArray(() => addAll(edits, editsOf(cursor)));
  return edits;
}

function editsOfObject(cursor: JsonCursor): readonly ByteEdit[] {
  const members: JsonMember[] = [];
  const inside: (readonly ByteEdit[])[] = [];
  const last = new Map<string, number>();
  cursor.readObject((key, keyStart) => {
    const valueStart = cursor.position;
    last.set(key, members.length);
    inside.push(editsOf(cursor));
    members.push({ key, keyStart, valueStart, valueEnd: cursor.position });
  });
  const edits: ByteEdit[] = [];
  let kept = 0;
  members.forEach(({ key }, index) => {
    if (last.get(key) === index) {
      kept += 1;
      addAll(edits, inside[index]!);
    } else {
      edits.push(removal(members, index, kept > 0));
    }
  });
  return edits;
}

/** Appends one by one: `push(...more)` may have too many arguments. */
function addAll(edits: ByteEdit[], more: readonly ByteEdit[]): void {
  for (const edit of more) edits.push(edit);
}
