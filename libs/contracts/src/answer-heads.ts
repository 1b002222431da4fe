import type { Readable } from 'node:stream';
import { checkArriving } from './checked-socket';

/** Code of the error with which a connection is destroyed. */
const ANSWER_REFUSED = 'ANSWER_REFUSED';
/** Enough for each honest head, and no more than the client itself takes. */
const MOST_HEAD_BYTES = 16 * 1024;
const MOST_HEAD_LINES = 256;
/** Heads with a status of 1xx before the answer. */
const MOST_INTERIM_HEADS = 100;
/** A chunk's length and its extensions. */
const LONGEST_CHUNK_LINE = 1_024;
const MOST_LENGTH_DIGITS = 13;
const HEAD_END = '\r\n\r\n';
const LF = 0x0a;
const CR = 0x0d;
const SEMICOLON = 0x3b;
const STATUS = /^HTTP\/1\.[01] (\d{3})/;
const COUNT = /^[ \t]*\d{1,1000}[ \t]*$/;
const CHUNKED = /(?:^|[,\t ])chunked[ \t]*$/;
/** A header that goes on in a second line, or a line that ends otherwise than HTTP says. */
const UNUSUAL_LINE = /\n[ \t]|[^\r]\n/;

/** What the next bytes of a connection are. */
type Part = 'head' | 'body' | 'chunk line' | 'chunk end' | 'trailer' | 'rest';

/**
 * Follows the HTTP/1.1 answers of one connection and finds heads, trailers and chunk lines that are too long, before an
 * HTTP client parses them: undici takes 0.3 s of processor time for 64 KiB of short headers, has no bound on the heads
 * of status 1xx, and none on the extensions of chunks.
 *
 * It is no parser: the client judges what an answer means and refuses one that is not valid. An answer whose end only
 * the client can tell is not looked at any further.
 */
export class AnswerHeads {
  #part: Part = 'head';
  /** What has arrived of a head or trailer. */
  #text = '';
  /** Bytes of the body or chunk that are yet to come. */
  #left = 0;
  #lineBytes = 0;
  #digits = 0;
  #length = 0;
  #hasExtension = false;
  #interim = 0;

  /** Takes the next bytes. Returns what is wrong with them, or null; after a problem the connection is of no use. */
  findProblem(chunk: Buffer): string | null {
    let at = 0;
    while (at < chunk.length) {
      if (this.#part === 'rest') return null;
      if (this.#part === 'body' || this.#part === 'chunk end') {
        at = this.#skip(chunk, at);
        continue;
      }
      const next = this.#part === 'chunk line' ? this.#readChunkLine(chunk, at) : this.#readHead(chunk, at);
      if (typeof next === 'string') return next;
      at = next;
    }
    return null;
  }

  #skip(chunk: Buffer, at: number): number {
    const bytes = Math.min(this.#left, chunk.length - at);
    this.#left -= bytes;
    if (this.#left === 0) this.#part = this.#part === 'body' ? 'head' : 'chunk line';
    return at + bytes;
  }

  /** Reads up to the end of a head or trailer. Returns the offset behind it, or what is wrong. */
  #readHead(chunk: Buffer, at: number): number | string {
    const known = this.#text.length;
    this.#text += chunk.toString('latin1', at, Math.min(chunk.length, at + MOST_HEAD_BYTES + HEAD_END.length));
    const end = this.#endOfHead(known);
    const head = end === -1 ? this.#text : this.#text.slice(0, end);
    if (head.length > MOST_HEAD_BYTES || hasManyLines(head)) return 'a head or trailer of an answer is too long';
    if (end === -1) return chunk.length;
    this.#text = '';
    const problem = this.#part === 'trailer' ? this.#endAnswer() : this.#begin(head);
    return problem ?? at + end - known;
  }

  /** Returns where the head that is kept ends, or -1. A trailer may be an empty line. */
  #endOfHead(known: number): number {
    if (this.#part === 'trailer' && this.#text.startsWith('\r\n')) return 2;
    const end = this.#text.indexOf(HEAD_END, Math.max(0, known - HEAD_END.length));
    return end === -1 ? -1 : end + HEAD_END.length;
  }

  #endAnswer(): null {
    this.#part = 'head';
    return null;
  }

  /** Finds out what follows a head. Returns what is wrong with it, or null. */
  #begin(head: string): string | null {
    const status = Number(STATUS.exec(head)?.[1] ?? 0);
    if (status < 100) return 'an answer has no status';
    if (status < 200) {
      this.#interim += 1;
      return this.#interim > MOST_INTERIM_HEADS ? 'an answer has too many heads of status 1xx' : null;
    }
    this.#interim = 0;
    return status === 204 || status === 304 ? null : this.#beginBody(head);
  }

  /** Finds out how long a body is. A client could judge headers that repeat each other in another way. */
  #beginBody(head: string): string | null {
    const lowered = head.toLowerCase();
    const codings = valuesOf(lowered, 'transfer-encoding');
    const lengths = valuesOf(lowered, 'content-length');
    if (codings.length + lengths.length > 1) return 'an answer says more than once how long it is';
    if (UNUSUAL_LINE.test(head)) return 'a head of an answer has lines that are not valid';
    const [length = ''] = lengths;
    this.#part = CHUNKED.test(codings[0] ?? '') ? 'chunk line' : 'rest';
    if (COUNT.test(length) && Number.isSafeInteger(Number(length))) this.#expect('body', Number(length));
    return null;
  }

  #expect(part: 'body' | 'chunk end', bytes: number): void {
    this.#left = bytes;
    this.#part = bytes === 0 ? 'head' : part;
  }

  #readChunkLine(chunk: Buffer, from: number): number | string {
    for (let at = from; at < chunk.length; at += 1) {
      const byte = chunk[at]!;
      if (byte === LF) return this.#endChunkLine(at + 1);
      this.#lineBytes += 1;
      if (this.#lineBytes > LONGEST_CHUNK_LINE) return 'the extensions of a chunk are too long';
      if (!this.#isOfChunkLine(byte)) return 'a chunk has no length';
    }
    return chunk.length;
  }

  #isOfChunkLine(byte: number): boolean {
    if (this.#hasExtension || byte === CR) return true;
    if (byte === SEMICOLON) return (this.#hasExtension = true);
    this.#digits += 1;
    this.#length = this.#length * 16 + hexValue(byte);
    return this.#digits <= MOST_LENGTH_DIGITS && !Number.isNaN(this.#length);
  }

  #endChunkLine(next: number): number {
    if (this.#length === 0) this.#part = 'trailer';
    else this.#expect('chunk end', this.#length + 2);
    this.#lineBytes = 0;
    this.#digits = 0;
    this.#length = 0;
    this.#hasExtension = false;
    return next;
  }
}

/** A function of an HTTP client that connects to a server. */
type Connect<O, S> = (
  options: O,
  callback: (...made: [error: null, socket: S] | [error: Error, socket: null]) => void,
) => void;

/** Returns the connector with the answers on each of its connections guarded. */
export function guardConnections<O, S extends Readable>(connect: Connect<O, S>): Connect<O, S> {
  return (options, callback) => {
    connect(options, (...[error, socket]) => {
      if (error !== null) return callback(error, null);
      guardAnswers(socket);
      return callback(null, socket);
    });
  };
}

/** Destroys a connection to a server whose answers `AnswerHeads` finds a problem with. */
function guardAnswers(socket: Readable): void {
  const heads = new AnswerHeads();
  checkArriving(socket, (chunk) => {
    const problem = heads.findProblem(chunk);
    return problem === null ? null : Object.assign(new Error(problem), { code: ANSWER_REFUSED });
  });
}

/** Returns each value of a header. Faster than an expression that ignores case. */
function valuesOf(head: string, name: string): readonly string[] {
  const mark = `\r\n${name}:`;
  const values: string[] = [];
  for (let at = head.indexOf(mark); at !== -1; at = head.indexOf(mark, at + mark.length)) {
    const from = at + mark.length;
    values.push(head.slice(from, head.indexOf('\r', from)));
  }
  return values;
}

function hasManyLines(head: string): boolean {
  let lines = 0;
  for (let at = head.indexOf('\n'); at !== -1; at = head.indexOf('\n', at + 1)) {
    lines += 1;
    if (lines > MOST_HEAD_LINES) return true;
  }
  return false;
}

/** Returns NaN for what is no hexadecimal digit. */
function hexValue(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : Number.NaN;
}
