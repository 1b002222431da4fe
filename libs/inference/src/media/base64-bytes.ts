import type { MediaBytes } from './media-bytes';

const EMPTY = Buffer.alloc(0);
const SMALL_READ = 1_024;
const BACKSLASH = 0x5c;

/** Base64 digits. Some decoders also accept `-` and `_` as digits, others skip them and get different bytes. */
const IS_DIGIT = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[A-Za-z0-9+/]/.test(String.fromCharCode(byte)) && byte < 0x80 ? 1 : 0,
);
const PADDING = 0x3d;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** Limits the work for reading the media of one body, which can contain thousands of files. */
export class ReadBudget {
  constructor(
    private reads = 20_000,
    private bytes = 96 * 1024 * 1024,
    /** Frames, packets and boxes that may be read; a recording of three hours has 600,000. */
    private places = 1_000_000,
  ) {}

  get isSpent(): boolean {
    return this.reads <= 0 || this.bytes <= 0 || this.places <= 0;
  }

  takePlaces(places: number): void {
    this.places -= places;
  }

  take(bytes: number): void {
    this.reads -= 1;
    this.bytes -= bytes;
  }
}

/** Media given as base64 in a body; decoded piece by piece as they are read. */
export class Base64Bytes implements MediaBytes {
  readonly length: number;
  private hasGarbage = false;
  /**
   * Bytes decoded by the last small read and some bytes after it, because readers of headers usually continue there.
   */
  private window: Buffer = EMPTY;
  private windowStart = 0;
  private wasPlain: boolean | null = null;

  private constructor(
    private readonly text: Buffer,
    private readonly budget: ReadBudget,
  ) {
    this.length = Math.floor((text.length * 3) / 4);
  }

  /** Returns the base64 in the JSON string between two offsets, which exclude its quotes. */
  static ofJson(body: Buffer, start: number, end: number, budget: ReadBudget): Base64Bytes {
    return new Base64Bytes(withoutPadding(inOneLine(unescaped(body.subarray(start, end)), budget)), budget);
  }

  /**
   * False if the file was not fully read, or if decoders may get other bytes than we do. Results are then unreliable.
   */
  get isSound(): boolean {
    return !this.hasGarbage && !this.budget.isSpent;
  }

  slice(start: number, end: number): Buffer {
    const from = Math.min(Math.max(0, start), this.length);
    const to = Math.min(Math.max(from, end), this.length);
    this.budget.takePlaces(1);
    if (from === to || this.budget.isSpent || this.hasGarbage) return EMPTY;
    if (to - from > SMALL_READ) return this.decode(from, to);
    if (from < this.windowStart || to > this.windowStart + this.window.length) {
      this.window = this.decode(from, Math.min(this.length, from + SMALL_READ));
      this.windowStart = from;
    }
    return this.window.subarray(from - this.windowStart, to - this.windowStart);
  }

  countPlaces(places: number): void {
    this.budget.takePlaces(places);
  }

  private decode(from: number, to: number): Buffer {
    const group = Math.floor(from / 3);
    const text = this.text.toString('latin1', group * 4, Math.ceil(to / 3) * 4);
    const decoded = Buffer.from(text, 'base64');
    this.budget.take(decoded.length);
    // Decoders skip characters that are not digits, so their later bytes would be at other offsets than ours.
    if (decoded.length !== Math.floor((text.length * 3) / 4)) {
      this.hasGarbage = true;
      return EMPTY;
    }
    return decoded.subarray(from - group * 3, to - group * 3);
  }

  /** Returns whether all of it is valid base64, including the part that was not read. */
  isPlain(): boolean {
    return (this.wasPlain ??= this.budget.isSpent ? false : this.hasOnlyDigits());
  }

  private hasOnlyDigits(): boolean {
    this.budget.take(this.length);
    const { text } = this;
    for (let at = 0; at < text.length; at += 1) if (IS_DIGIT[text[at]!] === 0) return false;
    return true;
  }
}

/** Some writers of JSON escape each slash. */
function unescaped(text: Buffer): Buffer {
  if (!text.includes(BACKSLASH)) return text;
  try {
    return Buffer.from(JSON.parse(`"${text.toString('latin1')}"`) as string, 'latin1');
  } catch {
    return text;
  }
}

/** Removes line breaks, which some writers add to base64. Decoders that accept such a text skip the breaks. */
function inOneLine(text: Buffer, budget: ReadBudget): Buffer {
  if (!text.includes(LINE_FEED)) return text;
  budget.take(text.length);
  if (budget.isSpent) return text;
  const line = Buffer.allocUnsafe(text.length);
  let length = 0;
  for (let at = 0; at < text.length; at += 1) {
    const byte = text[at]!;
    if (byte === LINE_FEED || byte === CARRIAGE_RETURN) continue;
    line[length] = byte;
    length += 1;
  }
  return line.subarray(0, length);
}

function withoutPadding(text: Buffer): Buffer {
  let end = text.length;
  for (let signs = 0; signs < 2 && end > 0 && text[end - 1] === PADDING; signs += 1) end -= 1;
  return text.subarray(0, end);
}
