import { GatheredPieces } from '@libs/contracts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
/** Most bytes that such an answer may have besides its base64 texts. */
const MOST_KEPT_BYTES = 256 * 1024;
/** The longest escape of JSON: `\u003d`. */
const ESCAPE_LENGTH = 6;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** The answer is not JSON with base64 in it, or it has too many other bytes. */
export class UnreadableBytes extends Error {}

/**
 * Extracts the base64 texts of one field from a JSON document while it arrives, so that a video in an answer is never
 * completely in memory. The remaining document, with empty texts in their places, is the `rest`.
 */
export class InlinedBytes {
  readonly #name: string;
  readonly #onBytes: (index: number, bytes: Buffer) => void;
  readonly #kept = new GatheredPieces();
  #state: 'outside' | 'text' | 'bytes' = 'outside';
  /** The current or last text, as far as it has arrived and could be the field's name. */
  #text = '';
  #isAfterName = false;
  #index = -1;
  /** Base64 digits that do not form whole bytes yet, or an incomplete escape. */
  #left = '';
  #hasEnded = false;

  /** `onBytes` receives the bytes of each text in pieces, with the number of the text, counted from 0. */
  constructor(name: string, onBytes: (index: number, bytes: Buffer) => void) {
    this.#name = name;
    this.#onBytes = onBytes;
  }

  /** How many such texts have begun. */
  get count(): number {
    return this.#index + 1;
  }

  /** @throws UnreadableBytes */
  write(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#state === 'outside') at = this.#passOutside(chunk, at);
      else at = this.#state === 'text' ? this.#passText(chunk, at) : this.#passBytes(chunk, at);
    }
  }

  /** The document without the bytes. @throws UnreadableBytes */
  rest(): string {
    if (this.#state !== 'outside') throw new UnreadableBytes('the document ends inside a text');
    return Buffer.concat(this.#kept.close()).toString();
  }

  #passOutside(chunk: Buffer, from: number): number {
    const quote = chunk.indexOf(QUOTE, from);
    const end = quote === -1 ? chunk.length : quote;
    for (let at = from; at < end; at += 1) {
      const byte = chunk[at]!;
      if (byte === COLON) this.#isAfterName = this.#text === this.#name;
      // There may be spaces between a name, its colon and its value.
      else if (byte > 0x20) this.#isAfterName = false;
    }
    if (quote === -1) {
      this.#keep(chunk.subarray(from));
      return chunk.length;
    }
    this.#keep(chunk.subarray(from, quote + 1));
    this.#begin();
    return quote + 1;
  }

  #begin(): void {
    this.#state = this.#isAfterName ? 'bytes' : 'text';
    if (this.#isAfterName) {
      this.#index += 1;
      this.#left = '';
      this.#hasEnded = false;
    }
    this.#isAfterName = false;
    this.#text = '';
  }

  #passText(chunk: Buffer, from: number): number {
    for (let at = from; at < chunk.length; at += 1) {
      const byte = chunk[at]!;
      const isEscaped = this.#left === '\\';
      this.#left = !isEscaped && byte === BACKSLASH ? '\\' : '';
      if (byte === QUOTE && !isEscaped) {
        this.#keep(chunk.subarray(from, at + 1));
        this.#state = 'outside';
        return at + 1;
      }
      if (this.#text.length <= this.#name.length) this.#text += String.fromCharCode(byte);
    }
    this.#keep(chunk.subarray(from));
    return chunk.length;
  }

  #passBytes(chunk: Buffer, from: number): number {
    const quote = chunk.indexOf(QUOTE, from);
    const end = quote === -1 ? chunk.length : quote;
    this.#take(chunk.toString('latin1', from, end), quote !== -1);
    if (quote === -1) return chunk.length;
    this.#left = '';
    this.#keep(chunk.subarray(quote, quote + 1));
    this.#state = 'outside';
    return quote + 1;
  }

  #take(piece: string, isLast: boolean): void {
    const { text, broken } = unescaped(this.#left + piece, isLast);
    const whole = isLast ? text.length : text.length - (text.length % 4);
    // Decodes complete groups of digits. The rest, possibly with an incomplete escape, is carried over.
    const base64 = text.slice(0, whole);
    this.#left = text.slice(whole) + broken;
    if (base64 === '') return;
    if (this.#hasEnded || !BASE64.test(base64) || base64.length % 4 === 1) {
      throw new UnreadableBytes('the bytes are no base64');
    }
    this.#hasEnded = base64.endsWith('=');
    this.#onBytes(this.#index, Buffer.from(base64, 'base64'));
  }

  #keep(bytes: Buffer): void {
    if (this.#kept.bytes + bytes.length > MOST_KEPT_BYTES) {
      throw new UnreadableBytes('there is too much beside the bytes');
    }
    this.#kept.add(Buffer.from(bytes));
  }
}

/** Decodes escapes: some JSON writers escape `/` and `=`. `broken` is an incomplete escape at the end. */
function unescaped(raw: string, isLast: boolean): { text: string; broken: string } {
  if (!raw.includes('\\')) return { text: raw, broken: '' };
  const last = raw.lastIndexOf('\\');
  const isBroken = !isLast && raw[last + 1] !== '/' && raw.length - last < ESCAPE_LENGTH;
  const complete = isBroken ? raw.slice(0, last) : raw;
  const text = complete.replaceAll(/\\(?:\/|u([0-9A-Fa-f]{4}))/g, (_escape, code?: string) =>
    code === undefined ? '/' : String.fromCharCode(Number.parseInt(code, 16)),
  );
  return { text, broken: isBroken ? raw.slice(last) : '' };
}
