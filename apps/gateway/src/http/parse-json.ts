import { isUtf8 } from 'node:buffer';
import { JsonCursor, MalformedJson, setMember, withoutDoubledNames } from '@libs/json';
import { isPlainObject } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { scanJsonShape, TOO_MANY_VALUES, type JsonShape, type PromptEstimate } from '@libs/inference';

/**
 * `lenient` is for inference, where most of a body belongs to the provider: of doubled member names the last
 * counts, and text may be anything that JSON can say. `strict` is for what we store: a member may be named
 * once, and text must be what PostgreSQL gives back as it was taken (no NUL, no lone surrogate).
 */
export type JsonRules = 'lenient' | 'strict';

export type JsonObject = Record<string, unknown>;

/** What is in a body. */
export interface JsonBody {
  readonly object: JsonObject;
  /** The bytes to send on: what came, without members that `object` does not have because a later one has their name. */
  readonly bytes: Buffer;
  /** What it holds for a model, if it is a request to one. */
  readonly prompt: PromptEstimate;
}

/** A body that has been looked over, not yet parsed. */
export interface ScannedBody {
  readonly bytes: Buffer;
  readonly shape: JsonShape;
}

/**
 * The most memory for the values of JSON that reserves none by its shape: a field of a form, an upload, an element of a
 * batch. In JSON of clients, other values take little memory compared with texts.
 */
const MAX_UNRESERVED_BYTES = 8 * 1024 * 1024;

/** Reads a JSON object for which no memory is reserved. @throws AppError invalid_request, also for very many values */
export function parseJsonObject(body: Buffer, rules: JsonRules): JsonObject {
  const scanned = scanJsonBody(body);
  if (isLarge(scanned.shape)) throw bad(`it has ${TOO_MANY_VALUES}`);
  return readScannedBody(scanned, rules).object;
}

/** Returns what is wrong with the shape of JSON for which no memory is reserved, or null. */
export function findShapeProblem(json: Buffer): string | null {
  const shape = scanJsonShape(json);
  return isLarge(shape) ? TOO_MANY_VALUES : shape.problem;
}

function isLarge({ valueBytes }: JsonShape): boolean {
  return valueBytes > MAX_UNRESERVED_BYTES;
}

/**
 * Judges encoding, depth and counts of a body before a single object is built.
 *
 * @throws AppError invalid_request, which never repeats what was sent
 */
export function scanJsonBody(bytes: Buffer): ScannedBody {
  refuseOtherText(bytes);
  const shape = scanJsonShape(bytes);
  if (shape.problem !== null) throw bad(`it has ${shape.problem}`);
  return { bytes, shape };
}

/**
 * The one JSON object of a body (RFC 8259), or `invalid_request`; the refusal never repeats what was sent.
 *
 * Texts with an escaped key take the slow way: V8 may mix up the names of such keys (nodejs/node#63785), and what is
 * checked must be what is sent on.
 */
export function readScannedBody({ bytes, shape }: ScannedBody, rules: JsonRules): JsonBody {
  const value = rules === 'strict' || shape.hasEscapedKey ? readExactly(bytes, rules) : parseFast(bytes);
  if (!isPlainObject(value)) throw bad('it must be a JSON object');
  const sentOn = shape.mayNameTwice && rules === 'lenient' ? namedOnce(bytes) : bytes;
  // The places of files are offsets in the bytes that are sent on.
  const { prompt } = sentOn === bytes ? shape : scanJsonShape(sentOn);
  return { object: value, bytes: sentOn, prompt };
}

/** Refuses what the parser accepts and we do not, such as a number beyond the range of a double. */
function namedOnce(body: Buffer): Buffer {
  try {
    return withoutDoubledNames(body);
  } catch (error) {
    if (error instanceof MalformedJson) throw bad('it is not valid JSON', error);
    throw error;
  }
}

function refuseOtherText(body: Buffer): void {
  if (body.length === 0) throw bad('it is empty');
  if (body[0] === 0xef && body[1] === 0xbb) throw bad('a byte order mark is not allowed');
  if (!isUtf8(body)) throw bad('it is not valid UTF-8');
}

function parseFast(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString()) as unknown;
  } catch (error) {
    throw bad('it is not valid JSON', error);
  }
}

function readExactly(body: Buffer, rules: JsonRules): unknown {
  try {
    const cursor = new JsonCursor(body);
    const value = readValue(cursor, rules === 'strict');
    cursor.expectEnd();
    return value;
  } catch (error) {
    if (error instanceof MalformedJson) throw bad('it is not valid JSON', error);
    throw error;
  }
}

function readValue(cursor: JsonCursor, strict: boolean): unknown {
  if (cursor.isObject()) return readObject(cursor, strict);
  if (cursor.isArray()) {
    const items: unknown[] = [];
    cursor.readArray(() => {
      items.push(readValue(cursor, strict));
    });
    return items;
  }
  if (cursor.isString()) return checkText(readText(cursor), strict);
  const start = cursor.position;
  cursor.skipValue();
  return JSON.parse(cursor.bytes.toString('latin1', start, cursor.position)) as unknown;
}

function readObject(cursor: JsonCursor, strict: boolean): JsonObject {
  const members: JsonObject = {};
  cursor.readObject((name) => {
    if (strict && Object.hasOwn(members, checkText(name, strict))) throw bad('a member is named more than once');
    const value = readValue(cursor, strict);
    setMember(members, name, value);
  });
  return members;
}

/** The parser judges the raw control characters that the cursor passes over. */
function readText(cursor: JsonCursor): string {
  const start = cursor.position;
  cursor.skipValue();
  try {
    return JSON.parse(cursor.bytes.toString('utf8', start, cursor.position)) as string;
  } catch (error) {
    throw bad('it is not valid JSON', error);
  }
}

function checkText(text: string, strict: boolean): string {
  if (strict && text.includes('\0')) throw bad('a text holds a NUL character');
  if (strict && !text.isWellFormed()) throw bad('a text holds half a surrogate pair');
  return text;
}

function bad(what: string, cause?: unknown): AppError {
  return new AppError('invalid_request', `The request body cannot be read: ${what}`, { cause });
}
