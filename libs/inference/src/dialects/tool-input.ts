import { createHash } from 'node:crypto';
import { findJsonObject, isObject, type JsonObject } from '@libs/json';

/** Field that holds arguments that are not a JSON object, because the input of a tool must be an object. */
const INVALID_JSON = 'INVALID_JSON';

/** Returns the `input` of a tool use from the arguments that a model wrote. */
export function toToolInput(argumentsText: string): JsonObject {
  if (argumentsText.trim() === '') return {};
  return findJsonObject(argumentsText) ?? { [INVALID_JSON]: argumentsText };
}

export function isInvalidInput(input: JsonObject): boolean {
  return typeof input[INVALID_JSON] === 'string' && Object.keys(input).length === 1;
}

/** The opposite of `toToolInput`. */
export function toArguments(input: unknown): string {
  if (!isObject(input)) return JSON.stringify(input ?? {});
  return isInvalidInput(input) ? (input[INVALID_JSON] as string) : JSON.stringify(input);
}

const CALL_ID = /^[A-Za-z0-9_-]{1,128}$/;

/**
 * Returns the id of a tool call in the upstream's form. Ids of other providers may hold other characters: they
 * are replaced by a hash that is the same for the call and its result.
 */
export function toCallId(id: string): string {
  return CALL_ID.test(id) ? id : `call_${createHash('sha256').update(id).digest('hex').slice(0, 32)}`;
}
