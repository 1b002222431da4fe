import { JsonCursor, MAX_JSON_DEPTH } from './json-cursor';
import { BACKSLASH, MalformedJson } from './json-grammar';
import { isObject, type JsonObject } from './loose-values';
import { setMember } from './set-member';

/**
 * Returns the value of a JSON text, like `JSON.parse`, but with limited depth, finite numbers and every key as it is
 * written. Of a repeated name the last counts. Throws MalformedJson.
 *
 * Uses `JSON.parse` if no key can have an escape (`json-members.ts` says why it is not safe for those) and if it finds
 * no error.
 */
export function parseJson(bytes: Buffer): unknown {
  const value = bytes.includes(BACKSLASH) ? undefined : parseFast(bytes);
  return value !== undefined && isSound(value, 1) ? value : parseExactly(bytes);
}

/**
 * Returns the object that a JSON text is; null for any other text. Like `parseJson`, but text that is not JSON costs at
 * most one error, and often none: a request can hold many thousands of such texts.
 */
export function findJsonObject(text: string): JsonObject | null {
  const trimmed = text.trim();
  if (!trimmed.startsWith('{') || !trimmed.endsWith('}')) return null;
  const bytes = Buffer.from(text);
  if (bytes.includes(BACKSLASH)) return findExactly(bytes);
  const value = parseFast(bytes);
  if (value === undefined) return null;
  if (!isSound(value, 1)) return findExactly(bytes);
  return isObject(value) ? value : null;
}

function findExactly(bytes: Buffer): JsonObject | null {
  try {
    const value = parseExactly(bytes);
    return isObject(value) ? value : null;
  } catch (thrown) {
    if (thrown instanceof MalformedJson) return null;
    throw thrown;
  }
}

/** Parses with `JSON.parse`; undefined for text that is not JSON. */
function parseFast(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString()) as unknown;
  } catch {
    // The exact reader reports the error.
    return undefined;
  }
}

function isSound(value: unknown, depth: number): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  if (depth > MAX_JSON_DEPTH) return false;
  if (Array.isArray(value)) {
    for (const element of value) if (!isSound(element, depth + 1)) return false;
    return true;
  }
  for (const name in value) if (!isSound((value as Record<string, unknown>)[name], depth + 1)) return false;
  return true;
}

function parseExactly(bytes: Buffer): unknown {
  const cursor = new JsonCursor(bytes);
  const value = readValue(cursor);
  cursor.expectEnd();
  return value;
}

function readValue(cursor: JsonCursor): unknown {
  if (cursor.isObject()) return readObject(cursor);
  if (cursor.isArray()) {
    const list: unknown[] = [];
    cursor.enterArray();
    while (cursor.nextElement()) list.push(readValue(cursor));
    return list;
  }
  if (cursor.isString()) return cursor.readString();
  const start = cursor.position;
  cursor.skipValue();
  return JSON.parse(cursor.bytes.toString('latin1', start, cursor.position)) as unknown;
}

function readObject(cursor: JsonCursor): object {
  const object: Record<string, unknown> = {};
  cursor.enterObject();
  for (let key = cursor.nextKey(); key !== null; key = cursor.nextKey()) {
    setMember(object, key, readValue(cursor));
  }
  return object;
}
