import { hash } from 'node:crypto';
import {
  MalformedJson,
  findMember,
  scanMembers,
  withoutDoubled,
  type ScannedObject,
  parseJson,
  isObject,
} from '@libs/json';
import { AppError } from '@libs/errors';

/** The APIs whose requests may contain unknown fields, which are passed on. */
export type RelayedApi = 'chat' | 'responses' | 'messages' | 'embeddings';

/** Fields of a request on OpenAI's APIs that only the gateway reads; they are not sent to any upstream. */
export const GATEWAY_MEMBERS: readonly string[] = [
  'provider',
  'models',
  'route',
  'preset',
  'plugins',
  'session_id',
  'trace',
  'debug',
  'usage',
  'stop_server_tools_when',
];

/**
 * Returns the fields of a caller's body. If a name occurs twice, only the last counts. Throws `invalid_request` if the
 * body is not an object.
 */
export function scanRequest(body: Buffer): ScannedObject {
  try {
    return withoutDoubled(scanMembers(body));
  } catch (thrown) {
    if (!(thrown instanceof MalformedJson)) throw thrown;
    throw new AppError('invalid_request', 'The body must be a JSON object', { cause: thrown });
  }
}

/** Returns a caller's body as a parsed object. Throws `invalid_request` unless it is exactly one JSON object. */
export function parseRequest(body: Buffer): Readonly<Record<string, unknown>> {
  try {
    const value = parseJson(body);
    if (isObject(value)) return value;
  } catch (thrown) {
    if (!(thrown instanceof MalformedJson)) throw thrown;
  }
  throw new AppError('invalid_request', 'The body must be a JSON object');
}

/** Returns the raw JSON text of a field, or undefined. */
export function memberText(scanned: ScannedObject, name: string): Buffer | undefined {
  const member = findMember(scanned, name);
  return member && scanned.bytes.subarray(member.valueStart, member.valueEnd);
}

/**
 * Returns the hash of the caller's `user`, or of the field `name`. The identifier itself is never sent; the same user
 * always has the same hash. Undefined if the field is not a string.
 */
export function hashedUser(scanned: ScannedObject, name = 'user'): string | undefined {
  const text = memberText(scanned, name);
  if (text === undefined || text[0] !== 0x22) return undefined;
  return hashOfUser(JSON.parse(text.toString()) as string);
}

/** Returns the hash that identifies an end user outside the organization. */
export function hashOfUser(user: string): string {
  return hash('sha256', user);
}
