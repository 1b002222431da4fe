const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/**
 * Finds the end of one JSON value in a stream of chunks without parsing it. Inside strings, which hold the prompts, it
 * uses indexOf to jump from quote to quote instead of checking every byte.
 */
export class JsonPieceScanner {
  /** The most braces and brackets that were open at the same time in this value so far. */
  deepest = 0;
  finished = false;
  private depth = 0;
  private isScalar = false;
  private inString = false;
  private escaped = false;

  /** Begins a value with its first byte. */
  begin(firstByte: number): void {
    this.depth = 0;
    this.deepest = 0;
    this.finished = false;
    this.isScalar = firstByte !== QUOTE && firstByte !== OPEN_BRACE && firstByte !== OPEN_BRACKET;
  }

  /** Reads to the end of the value or of the chunk; returns the position after the part that was read. */
  scan(chunk: Buffer, start: number): number {
    if (this.isScalar) return this.scanScalar(chunk, start);
    let position = start;
    while (position < chunk.length) {
      position = this.inString ? this.scanString(chunk, position) : this.scanStructure(chunk, position);
      if (this.finished) return position;
    }
    return position;
  }

  private scanScalar(chunk: Buffer, start: number): number {
    let position = start;
    while (position < chunk.length && !endsScalar(chunk[position]!)) position += 1;
    this.finished = position < chunk.length;
    return position;
  }

  /** Outside strings: reads to the next string, to the end of the value, or to the end of the chunk. */
  private scanStructure(chunk: Buffer, start: number): number {
    for (let position = start; position < chunk.length; position += 1) {
      const byte = chunk[position]!;
      if (byte === QUOTE) {
        this.inString = true;
        return position + 1;
      }
      if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        this.depth += 1;
        if (this.depth > this.deepest) this.deepest = this.depth;
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        this.depth -= 1;
        this.finished = this.depth === 0;
        if (this.finished) return position + 1;
      }
    }
    return chunk.length;
  }

  /** Inside a string: reads to the byte after its closing quote, or to the end of the chunk. */
  private scanString(chunk: Buffer, start: number): number {
    let position = start;
    if (this.escaped) {
      this.escaped = false;
      position += 1;
    }
    for (;;) {
      const quote = chunk.indexOf(QUOTE, position);
      const end = quote === -1 ? chunk.length : quote;
      const isEscape = endsInEscape(chunk, position, end);
      if (quote === -1) {
        this.escaped = isEscape;
        return chunk.length;
      }
      if (!isEscape) break;
      position = quote + 1;
    }
    this.inString = false;
    this.finished = this.depth === 0;
    return chunk.indexOf(QUOTE, position) + 1;
  }
}

/** Returns true if an odd number of backslashes precedes `end`. */
function endsInEscape(chunk: Buffer, start: number, end: number): boolean {
  let position = end - 1;
  while (position >= start && chunk[position] === BACKSLASH) position -= 1;
  return (end - 1 - position) % 2 === 1;
}

function endsScalar(byte: number): boolean {
  const isWhitespace = byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
  return isWhitespace || byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET;
}
