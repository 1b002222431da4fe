import { isUtf8 } from 'node:buffer';
import { AppError } from '@libs/errors';

export type FormFields = ReadonlyMap<string, string>;

const MAX_FIELDS = 50;
const BROKEN_ESCAPE = /%(?![0-9A-Fa-f]{2})/;

/**
 * Returns the fields of an `application/x-www-form-urlencoded` body. Each field may occur once (RFC 6749 §3.2). Text
 * must be storable in PostgreSQL without change.
 * @throws AppError invalid_request that never repeats the caller's input
 */
export function parseForm(body: Buffer): FormFields {
  const fields = new Map<string, string>();
  const text = body.toString('latin1');
  if (text === '') return fields;
  const pairs = text.split('&');
  if (pairs.length > MAX_FIELDS) throw bad(`it has more than ${MAX_FIELDS} fields`);
  for (const pair of pairs) {
    const equals = pair.indexOf('=');
    const name = decode(equals === -1 ? pair : pair.slice(0, equals));
    if (fields.has(name)) throw bad('a field is given more than once');
    fields.set(name, equals === -1 ? '' : decode(pair.slice(equals + 1)));
  }
  return fields;
}

/** @param text one character for each byte */
function decode(text: string): string {
  if (BROKEN_ESCAPE.test(text)) throw bad('it has a broken escape');
  const spaced = text.replaceAll('+', ' ');
  const bytes = Buffer.from(
    spaced.replace(/%([0-9A-Fa-f]{2})/g, (_escape, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  );
  if (!isUtf8(bytes)) throw bad('it is not valid UTF-8');
  if (bytes.includes(0)) throw bad('a text holds a NUL character');
  return bytes.toString();
}

function bad(what: string): AppError {
  return new AppError('invalid_request', `The request body cannot be read: ${what}`);
}
