import { GatheredPieces } from '@libs/contracts';

/**
 * Cuts a `text/event-stream` body into its events (WHATWG HTML, section 9.2.6): the data as bytes, and the
 * name from the `event` field.
 *
 * Nothing else is kept: comments, ids and retry hints of an upstream are not passed on. The data is never
 * decoded, so a character cut in two by the network stays whole. Line ends may be LF, CRLF or CR.
 */
const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const LETTER_D = 0x64;
const DATA = Buffer.from('data');
const EVENT = Buffer.from('event');
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const LINE_FEED = Buffer.from('\n');

/** An event larger than allowed. */
export class EventTooLarge extends Error {
  override readonly name = 'EventTooLarge';
}

export class EventSplitter {
  /** The unfinished last line. */
  readonly #line = new GatheredPieces();
  /** Data lines of the unfinished event, with line feeds between them. */
  readonly #data = new GatheredPieces();
  #dataLines = 0;
  #name: string | null = null;
  #atStart = true;
  /** True if the last line ended in CR: an LF that follows is part of the same line end. */
  #lineFeedDue = false;

  constructor(
    readonly maxEventBytes: number,
    readonly onEvent: (data: Buffer, name: string | null) => void,
  ) {}

  /** Bytes of the event that has arrived in part. */
  get keptBytes(): number {
    return this.#line.bytes + this.#data.bytes;
  }

  /** Takes the next bytes; calls `onEvent` for every event they complete. Throws EventTooLarge. */
  push(chunk: Buffer): void {
    const hasCarriageReturns = chunk.includes(CR);
    let at = 0;
    while (at < chunk.length) {
      const isSecondHalf = this.#lineFeedDue && chunk[at] === LF;
      this.#lineFeedDue = false;
      if (isSecondHalf) {
        at += 1;
        continue;
      }
      const end = hasCarriageReturns ? lineEnd(chunk, at) : chunk.indexOf(LF, at);
      if (end === -1) break;
      this.#endLine(chunk, at, end);
      this.#lineFeedDue = chunk[end] === CR;
      at = end + 1;
    }
    if (at < chunk.length) {
      this.#line.add(chunk.subarray(at));
      this.#checkSize();
    }
  }

  /** Ends the body. An event without its closing empty line still counts: many upstreams end like that. */
  end(): void {
    if (this.#line.bytes > 0) this.#endLine(Buffer.alloc(0), 0, 0);
    this.#endEvent();
  }

  #endLine(chunk: Buffer, start: number, end: number): void {
    let line = chunk;
    let from = start;
    let to = end;
    if (this.#line.bytes > 0) {
      this.#line.add(chunk.subarray(start, end));
      line = this.#line.take();
      from = 0;
      to = line.length;
    }
    if (this.#atStart) {
      this.#atStart = false;
      if (startsWith(line, BYTE_ORDER_MARK, from, to)) from += BYTE_ORDER_MARK.length;
    }
    if (from === to) this.#endEvent();
    else this.#readField(line, from, to);
  }

  #readField(line: Buffer, from: number, to: number): void {
    if (line[from] !== LETTER_D) {
      const name = valueStart(line, EVENT, from, to);
      if (name !== -1) this.#name = line.toString('utf8', name, to) || null;
      return;
    }
    const value = valueStart(line, DATA, from, to);
    if (value === -1) return;
    if (this.#dataLines > 0) this.#data.add(LINE_FEED);
    this.#data.add(line.subarray(value, to));
    this.#dataLines += 1;
    this.#checkSize();
  }

  #endEvent(): void {
    const name = this.#name;
    this.#name = null;
    if (this.#dataLines === 0) return;
    this.#dataLines = 0;
    this.onEvent(this.#data.take(), name);
  }

  #checkSize(): void {
    if (this.keptBytes > this.maxEventBytes) {
      throw new EventTooLarge('an event of the stream is too large');
    }
  }
}

function lineEnd(chunk: Buffer, from: number): number {
  for (let at = from; at < chunk.length; at += 1) {
    const byte = chunk[at];
    if (byte === LF || byte === CR) return at;
  }
  return -1;
}

/** Returns the offset of the value if the line has this field; else -1. */
function valueStart(line: Buffer, field: Buffer, from: number, to: number): number {
  if (!startsWith(line, field, from, to)) return -1;
  const colon = from + field.length;
  if (colon === to) return to;
  if (line[colon] !== COLON) return -1;
  return line[colon + 1] === SPACE && colon + 1 < to ? colon + 2 : colon + 1;
}

function startsWith(line: Buffer, prefix: Buffer, from: number, to: number): boolean {
  if (to - from < prefix.length) return false;
  for (let i = 0; i < prefix.length; i += 1) {
    if (line[from + i] !== prefix[i]) return false;
  }
  return true;
}
