import { isUtf8 } from 'node:buffer';
import { JsonCursor, MalformedJson, setMember, withoutDoubledNames } from '@libs/json';
import { isPlainObject } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { scanJsonShape, TOO_MANY_VALUES, type JsonShape, type PromptEstimate } from '@libs/inference';

/**
 * `lenient` is for inference, where most of a body is meant for the provider: the last of several fields with one name
 * counts, and text may be anything that JSON allows. `strict` is for data that we store: each field name may occur
 * once, and text must be storable in PostgreSQL without change (no NUL, no lone surrogate).
 */
export type JsonRules = 'lenient' | 'strict';

export type JsonObject = Record<string, unknown>;

/** The content of a JSON body. */
export interface JsonBody {
  readonly object: JsonObject;
  /** The bytes to send upstream: the original ones, without fields that a later field with the same name replaces. */
  readonly bytes: Buffer;
  /** Estimate of the prompt, if the body is an inference request. */
  readonly prompt: PromptEstimate;
}

/** A body that was scanned but not parsed yet. */
export interface ScannedBody {
  readonly bytes: Buffer;
  readonly shape: JsonShape;
}

/**
 * Most memory for the values of JSON whose shape reserves none: a form field, an upload, an element of a batch. For
 * other JSON of clients, values take little memory compared with its texts.
 */
const MAX_UNRESERVED_BYTES = 8 * 1024 * 1024;

/** Reads a JSON object for which no memory is reserved. @throws AppError invalid_request, also for very many values */
export function parseJsonObject(body: Buffer, rules: JsonRules): JsonObject {
  const scanned = scanJsonBody(body);
  if (isLarge(scanned.shape)) throw bad(`it has ${TOO_MANY_VALUES}`);
  return readScannedBody(scanned, rules).object;
}

/** Returns what is wrong with the shape of JSON for which no memory is reserved; null if it is valid. */
export function findShapeProblem(json: Buffer): string | null {
  const shape = scanJsonShape(json);
  return isLarge(shape) ? TOO_MANY_VALUES : shape.problem;
}

function isLarge({ valueBytes }: JsonShape): boolean {
  return valueBytes > MAX_UNRESERVED_BYTES;
}

/**
 * Checks encoding, depth and counts of a body before any object is created.
 * @throws AppError invalid_request that never repeats the caller's input
 */
export function scanJsonBody(bytes: Buffer): ScannedBody {
  refuseOtherText(bytes);
  const shape = scanJsonShape(bytes);
  if (shape.problem !== null) throw bad(`it has ${shape.problem}`);
  return { bytes, shape };
}

/**
 * Parses the one JSON object of a body (RFC 8259). Throws `invalid_request`, which never repeats the caller's input.
 *
 * Bodies with an escaped key are parsed in a slower way: V8 may confuse the names of such keys (nodejs/node#63785), and
 * the checked body must equal the one that is sent upstream.
 */
export function readScannedBody({ bytes, shape }: ScannedBody, rules: JsonRules): JsonBody {
  const value = rules === 'strict' || shape.hasEscapedKey ? readExactly(bytes, rules) : parseFast(bytes);
  if (!isPlainObject(value)) throw bad('it must be a JSON object');
  const sentOn = shape.mayNameTwice && rules === 'lenient' ? namedOnce(bytes) : bytes;
  // The positions of files are offsets in the bytes that are sent upstream.
  const { prompt } = sentOn === bytes ? shape : scanJsonShape(sentOn);
  return { object: value, bytes: sentOn, prompt };
}

/** Refuses values that the parser accepts but we do not, such as a number beyond the range of a double. */
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

/** The parser checks for raw control characters, which the cursor skips. */
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
