import { isUtf8 } from 'node:buffer';
import { JsonCursor, MalformedJson } from '@libs/json';

/** The claims of a token (RFC 7519 §4) or the fields of its header. */
export type Claims = Readonly<Record<string, unknown>>;

/** Objects, lists and values of all depths together. */
const MAX_VALUES = 512;
/** Tokens of well-known issuers have objects within objects to a depth of three. */
const MAX_DEPTH = 8;

/**
 * Returns the JSON object that a part of a token holds, or null if it is not one.
 *
 * Refuses duplicate names, because signer and reader may use different values (RFC 8725 §2.4), and text that is not
 * well-formed. Reads names without `JSON.parse` of the whole, which may mix up names with an escape
 * (nodejs/node#63785).
 */
export function readClaims(bytes: Buffer): Claims | null {
  if (!isUtf8(bytes)) return null;
  try {
    return new ClaimsReader(bytes).read();
  } catch (error) {
    if (error instanceof MalformedJson || error instanceof SyntaxError) return null;
    throw error;
  }
}

class ClaimsReader {
  readonly #cursor: JsonCursor;
  #values = 0;
  #depth = 0;

  constructor(bytes: Buffer) {
    this.#cursor = new JsonCursor(bytes);
  }

  read(): Claims | null {
    if (!this.#cursor.isObject()) return null;
    const claims = this.#readObject();
    this.#cursor.expectEnd();
    return claims;
  }

  #readValue(): unknown {
    const cursor = this.#cursor;
    this.#values += 1;
    if (this.#values > MAX_VALUES) throw this.#malformed('too many values');
    if (cursor.isObject()) return this.#within(() => this.#readObject());
    if (cursor.isArray()) return this.#within(() => this.#readList());
    const start = cursor.position;
    cursor.skipValue();
    const value: unknown = JSON.parse(cursor.bytes.toString('utf8', start, cursor.position));
    return typeof value === 'string' ? this.#wellFormed(value) : value;
  }

  #within<T>(read: () => T): T {
    if (this.#depth === MAX_DEPTH) throw this.#malformed('too many objects or lists within each other');
    this.#depth += 1;
    const value = read();
    this.#depth -= 1;
    return value;
  }

  #readList(): unknown[] {
    const items: unknown[] = [];
    this.#cursor.readArray(() => void items.push(this.#readValue()));
    return items;
  }

  #readObject(): Record<string, unknown> {
    const members: Record<string, unknown> = {};
    this.#cursor.readObject((name) => {
      if (Object.hasOwn(members, this.#wellFormed(name))) throw this.#malformed('a name stands twice');
      const value = this.#readValue();
      // Assigning to `__proto__` would change the prototype instead of adding a field.
      Object.defineProperty(members, name, { value, enumerable: true, configurable: true, writable: true });
    });
    return members;
  }

  #wellFormed(text: string): string {
    if (text.includes('\0') || !text.isWellFormed()) throw this.#malformed('text that is not well-formed');
    return text;
  }

  #malformed(what: string): MalformedJson {
    return new MalformedJson(what, this.#cursor.position);
  }
}
