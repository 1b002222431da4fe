import { JsonCursor } from './json-cursor';

/**
 * Reads and edits single fields of a JSON object and keeps every other byte.
 *
 * Bodies are spliced, never parsed and serialized again: numbers and strings keep the caller's own spelling, the event
 * loop is not blocked, and V8 cannot confuse the keys. (In Node 24.21 and 26.10 `JSON.parse` may return wrong names for
 * keys that are written with an escape, nodejs/node#63785; `json-members.spec.ts` has a test that fails when it is
 * fixed.)
 */

/** One field by byte offsets; ends are exclusive. `keyStart` is the opening quote of the key. */
export interface JsonMember {
  /** Decoded. */
  readonly key: string;
  readonly keyStart: number;
  readonly valueStart: number;
  readonly valueEnd: number;
}

/** Replaces the bytes from `start` to `end` (exclusive). With `start === end` it only inserts. */
export interface ByteEdit {
  readonly start: number;
  readonly end: number;
  readonly text: string | Buffer;
}

export interface MemberEdits {
  /** New values as JSON text. A name that is not there is added at the end. */
  readonly set?: Readonly<Record<string, string | Buffer>>;
  readonly remove?: readonly string[];
}

/** A JSON object with the offsets of its fields, in the order of the text, including repeated names. */
export interface ScannedObject {
  readonly bytes: Buffer;
  readonly members: readonly JsonMember[];
  /** Offset of the closing brace. */
  readonly closeBrace: number;
}

/** Returns the fields of the one JSON object in `bytes`. Throws MalformedJson. */
export function scanMembers(bytes: Buffer): ScannedObject {
  const cursor = new JsonCursor(bytes);
  const scanned = scanMembersAt(cursor);
  cursor.expectEnd();
  return scanned;
}

/** Reads the fields of the object at the cursor and moves past it. Throws MalformedJson. */
export function scanMembersAt(cursor: JsonCursor): ScannedObject {
  const members: JsonMember[] = [];
  cursor.readObject((key, keyStart) => {
    const valueStart = cursor.position;
    cursor.skipValue();
    members.push({ key, keyStart, valueStart, valueEnd: cursor.position });
  });
  return { bytes: cursor.bytes, members, closeBrace: cursor.position - 1 };
}

/** Returns the field that counts: of repeated names the last, as in JSON.parse. */
export function findMember({ members }: ScannedObject, name: string): JsonMember | undefined {
  for (let i = members.length - 1; i >= 0; i -= 1) if (members[i]!.key === name) return members[i];
  return undefined;
}

/** Returns the object with only the last field of every repeated name; a copy if a name is repeated. */
export function withoutDoubled(object: ScannedObject): ScannedObject {
  const { bytes, members } = object;
  const last = new Map(members.map((member) => [member.key, member]));
  if (last.size === members.length) return object;
  const edits: ByteEdit[] = [];
  let kept = 0;
  members.forEach((member, index) => {
    if (last.get(member.key) === member) kept += 1;
    else edits.push(removal(members, index, kept > 0));
  });
  return scanMembers(applyEdits(bytes, edits));
}

/** Returns the fields of `required` (JSON text by name) that the object lacks. */
export function missingMembers(
  object: ScannedObject,
  required: Readonly<Record<string, string>>,
): Record<string, string> {
  const missing: Record<string, string> = {};
  for (const name in required) if (!findMember(object, name)) missing[name] = required[name]!;
  return missing;
}

/** Returns the bytes of the value at a path of object keys, without copying; undefined if there is none. */
export function findValue(bytes: Buffer, path: readonly string[]): Buffer | undefined {
  let value: Buffer | undefined = bytes;
  for (const name of path) {
    if (value === undefined || !new JsonCursor(value).isObject()) return undefined;
    const member: JsonMember | undefined = findMember(scanMembers(value), name);
    value = member && value.subarray(member.valueStart, member.valueEnd);
  }
  return value;
}

/**
 * Returns the object with some fields set and some removed; all other bytes, including white space, are kept. Of a
 * repeated name that is set only the last remains. Throws MalformedJson unless `body` is one object.
 */
export function spliceMembers(body: Buffer | ScannedObject, edits: MemberEdits): Buffer {
  const scanned = Buffer.isBuffer(body) ? scanMembers(body) : body;
  return applyEdits(scanned.bytes, memberEdits(scanned, edits));
}

const NO_VALUES: NonNullable<MemberEdits['set']> = {};
const NO_NAMES: readonly string[] = [];

/** Returns the byte edits of `spliceMembers`, in order, to be joined with other edits of the same text. */
export function memberEdits(scanned: ScannedObject, { set = NO_VALUES, remove = NO_NAMES }: MemberEdits): ByteEdit[] {
  const { members } = scanned;
  const edits: ByteEdit[] = [];
  const isRemoved = lookupIn(remove);
  const lastPlaceOf = lastPlacesIn(members);
  let kept = 0;
  for (let i = 0; i < members.length; i += 1) {
    const { key, valueStart, valueEnd } = members[i]!;
    const isSet = Object.hasOwn(set, key);
    if (isSet ? lastPlaceOf(key) > i : isRemoved(key)) {
      edits.push(removal(members, i, kept > 0));
    } else {
      kept += 1;
      if (isSet) edits.push({ start: valueStart, end: valueEnd, text: set[key]! });
    }
  }
  addMissing(edits, scanned, { set, isThere: (name) => lastPlaceOf(name) !== -1, keptBefore: kept > 0 });
  return edits;
}

interface MissingMembers {
  readonly set: NonNullable<MemberEdits['set']>;
  readonly isThere: (name: string) => boolean;
  readonly keptBefore: boolean;
}

/** Adds members after the last one. */
function addMissing(
  edits: ByteEdit[],
  { members, closeBrace }: ScannedObject,
  { set, isThere, keptBefore }: MissingMembers,
): void {
  const at = members.at(-1)?.valueEnd ?? closeBrace;
  let isFollowing = keptBefore;
  let text = '';
  for (const name in set) {
    if (isThere(name)) continue;
    const value = set[name]!;
    text += `${isFollowing ? ',' : ''}${JSON.stringify(name)}:`;
    isFollowing = true;
    if (typeof value === 'string') {
      text += value;
    } else {
      edits.push({ start: at, end: at, text }, { start: at, end: at, text: value });
      text = '';
    }
  }
  if (text !== '') edits.push({ start: at, end: at, text });
}

/** Lists of at least this length are indexed. Most requests have few fields, but a caller may send very many. */
const MANY = 64;

function lookupIn(names: readonly string[]): (name: string) => boolean {
  if (names.length < MANY) return (name) => names.includes(name);
  const index = new Set(names);
  return (name) => index.has(name);
}

/** Returns a function that finds the index of the last field of a name, or -1. */
function lastPlacesIn(members: readonly JsonMember[]): (name: string) => number {
  if (members.length < MANY) return (name) => members.findLastIndex(({ key }) => key === name);
  const index = new Map(members.map(({ key }, place) => [key, place]));
  return (name) => index.get(name) ?? -1;
}

/** Removes a field with the comma before it, or the comma after it if no field before it is kept. */
export function removal(members: readonly JsonMember[], index: number, keptBefore: boolean): ByteEdit {
  const member = members[index]!;
  if (keptBefore) return { start: members[index - 1]!.valueEnd, end: member.valueEnd, text: '' };
  return { start: member.keyStart, end: members[index + 1]?.keyStart ?? member.valueEnd, text: '' };
}

/** Two lists of edits, each in order, as one. */
export function joinEdits(some: readonly ByteEdit[], others: readonly ByteEdit[]): readonly ByteEdit[] {
  if (others.length === 0) return some;
  const edits: ByteEdit[] = [];
  let next = 0;
  for (const edit of some) {
    while (next < others.length && others[next]!.start < edit.start) edits.push(others[next++]!);
    edits.push(edit);
  }
  while (next < others.length) edits.push(others[next++]!);
  return edits;
}

/** Bytes that `applyEdits` puts around the text, and the offset at which it starts. */
export interface Frame {
  readonly prefix: Buffer;
  readonly suffix: Buffer;
  readonly from: number;
}

const NO_FRAME: Frame = { prefix: Buffer.alloc(0), suffix: Buffer.alloc(0), from: 0 };

/** Returns the text with all edits made. Edits must be in order, not overlap, and not begin before `from`. */
export function applyEdits(bytes: Buffer, edits: readonly ByteEdit[], frame: Frame = NO_FRAME): Buffer {
  const { prefix, suffix, from } = frame;
  let length = prefix.length + bytes.length - from + suffix.length;
  for (const { start, end, text } of edits) {
    length += (typeof text === 'string' ? Buffer.byteLength(text) : text.length) - (end - start);
  }
  const output = Buffer.allocUnsafe(length);
  let written = prefix.copy(output);
  let read = from;
  for (const { start, end, text } of edits) {
    written += bytes.copy(output, written, read, start);
    written += typeof text === 'string' ? output.write(text, written) : text.copy(output, written);
    read = end;
  }
  written += bytes.copy(output, written, read);
  suffix.copy(output, written);
  return output;
}
