import { isObject, type JsonMember, type ScannedObject } from '@libs/json';

/** Values of `error`, as JSON text, of servers that always send the field. */
const NO_ERROR = new Set(['null', '""', '{}', 'false', '0']);

/** Returns whether the value of a field `error` reports an error. */
export function isReported(error: unknown): boolean {
  return isObject(error) ? Object.keys(error).length > 0 : Boolean(error);
}

/** Returns whether a scanned field `error` reports an error. */
export function isReportedAt({ bytes }: Pick<ScannedObject, 'bytes'>, { valueStart, valueEnd }: JsonMember): boolean {
  return !NO_ERROR.has(bytes.toString('utf8', valueStart, valueEnd));
}
