/**
 * Cuts a `text/event-stream` body into the data of its events (WHATWG HTML, section 9.2.6), as bytes.
 *
 * Only `data` is kept: comments, ids, names and retry hints of an upstream are not passed on. The bytes are
 * never decoded, so a character cut in two by the network stays whole. Line ends may be LF, CRLF or CR.
 */
const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const DATA = Buffer.from('data');
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const LINE_FEED = Buffer.from('\n');

/** An event larger than allowed. */
export class EventTooLarge extends Error {
  override readonly name = 'EventTooLarge';
}

export class EventSplitter {
  /** The unfinished last line, in pieces, and their length. */
  #line: Buffer[] = [];
  #lineBytes = 0;
  /** Data lines of the unfinished event, and their length. */
  #data: Buffer[] = [];
  #dataBytes = 0;
  #atStart = true;
  /** The last line ended in CR, of which a following LF is the second half. */
  #lineFeedDue = false;

  constructor(
    readonly maxEventBytes: number,
    readonly onEvent: (data: Buffer) => void,
  ) {}

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
      this.#line.push(chunk.subarray(at));
      this.#lineBytes += chunk.length - at;
      this.#checkSize();
    }
  }

  /** The body is over. An event without its closing empty line still counts: many upstreams end like that. */
  end(): void {
    if (this.#lineBytes > 0) this.#endLine(Buffer.alloc(0), 0, 0);
    this.#endEvent();
  }

  #endLine(chunk: Buffer, start: number, end: number): void {
    let line = chunk;
    let from = start;
    let to = end;
    if (this.#lineBytes > 0) {
      line = Buffer.concat([...this.#line, chunk.subarray(start, end)]);
      from = 0;
      to = line.length;
      this.#line = [];
      this.#lineBytes = 0;
    }
    if (this.#atStart) {
      this.#atStart = false;
      if (startsWith(line, BYTE_ORDER_MARK, from, to)) from += BYTE_ORDER_MARK.length;
    }
    if (from === to) this.#endEvent();
    else this.#readField(line, from, to);
  }

  #readField(line: Buffer, from: number, to: number): void {
    if (!startsWith(line, DATA, from, to)) return;
    let value = from + DATA.length;
    if (value < to) {
      if (line[value] !== COLON) return;
      value += 1;
      if (line[value] === SPACE && value < to) value += 1;
    }
    this.#data.push(line.subarray(value, to));
    this.#dataBytes += to - value;
    this.#checkSize();
  }

  #endEvent(): void {
    const lines = this.#data;
    if (lines.length === 0) return;
    this.#data = [];
    this.#dataBytes = 0;
    this.onEvent(lines.length === 1 ? lines[0]! : joinLines(lines));
  }

  #checkSize(): void {
    // Every line counts at least one byte, so that empty data lines cannot pile up either.
    if (this.#lineBytes + this.#dataBytes + this.#data.length > this.maxEventBytes) {
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

function startsWith(line: Buffer, prefix: Buffer, from: number, to: number): boolean {
  if (to - from < prefix.length) return false;
  for (let i = 0; i < prefix.length; i += 1) {
    if (line[from + i] !== prefix[i]) return false;
  }
  return true;
}

function joinLines(lines: readonly Buffer[]): Buffer {
  return Buffer.concat(lines.flatMap((line, index) => (index === 0 ? [line] : [LINE_FEED, line])));
}
