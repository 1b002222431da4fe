import { JsonCursor } from './json-cursor';

/**
 * The value that the text holds, like `JSON.parse`, with the depth bounded and every key as it is written
 * (`json-members.ts` says why `JSON.parse` is not to be trusted with keys). A doubled name counts once, the
 * last. Throws MalformedJson.
 */
export function parseJson(bytes: Buffer): unknown {
  const cursor = new JsonCursor(bytes);
  const value = readValue(cursor);
  cursor.expectEnd();
  return value;
}

function readValue(cursor: JsonCursor): unknown {
  if (cursor.isObject()) return readObject(cursor);
  if (cursor.isArray()) {
    const list: unknown[] = [];
    cursor.readArray(() => list.push(readValue(cursor)));
    return list;
  }
  if (cursor.isString()) return cursor.readString();
  const start = cursor.position;
  cursor.skipValue();
  return JSON.parse(cursor.bytes.toString('latin1', start, cursor.position)) as unknown;
}

function readObject(cursor: JsonCursor): object {
  const object: Record<string, unknown> = {};
  cursor.readObject((key) => {
    const value = readValue(cursor);
    if (key === '__proto__') Object.defineProperty(object, key, { value, ...OWN });
    else object[key] = value;
  });
  return object;
}

const OWN = { writable: true, enumerable: true, configurable: true };
