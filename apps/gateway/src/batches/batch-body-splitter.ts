import { isUtf8 } from 'node:buffer';
import { GatheredPieces } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { JsonPieceScanner } from './json-piece-scanner';

export interface SplitterHandlers {
  /** Called with each top-level field other than `requests`, as its JSON text. */
  onMember(name: string, json: Buffer): void;
  /** Called with each element of `requests` as its JSON text, which is valid until the next call of `write`. */
  onItem(index: number, json: Buffer): void;
}

export interface SplitterLimits {
  /** Longest element of `requests`, in bytes. */
  readonly maxItemBytes: number;
  /** Longest other member, in bytes. */
  readonly maxMemberBytes: number;
  /** Deepest nesting inside one element or member. */
  readonly maxDepth: number;
}

const enum At {
  Start,
  KeyOrEnd,
  Key,
  InKey,
  Colon,
  Value,
  InValue,
  CommaOrEnd,
  ItemOrEnd,
  Item,
  InItem,
  ItemCommaOrEnd,
  End,
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/**
 * Splits the body of POST /batches into its fields and the elements of `requests` while it arrives, in any order of
 * fields and with at most one element in memory.
 *
 * Checks what is between the pieces (braces, commas, colons, nesting, UTF-8). The code that parses a piece checks the
 * piece itself.
 */
export class BatchBodySplitter {
  private at = At.Start;
  private readonly parts = new GatheredPieces();
  private readonly scanner = new JsonPieceScanner();
  private memberName = '';
  private itemIndex = 0;
  private requestsSeen = false;

  constructor(
    private readonly handlers: SplitterHandlers,
    private readonly limits: SplitterLimits,
  ) {}

  /** @throws AppError invalid_request (malformed), payload_too_large (a piece over its limit) */
  write(chunk: Buffer): void {
    let position = 0;
    while (position < chunk.length) {
      position = this.insidePiece() ? this.scanPiece(chunk, position) : this.step(chunk, position);
    }
  }

  /** Ends the body. @throws AppError invalid_request if it is incomplete */
  end(): void {
    if (this.at !== At.End) throw malformed('the body ends too early');
  }

  private insidePiece(): boolean {
    return this.at === At.InKey || this.at === At.InValue || this.at === At.InItem;
  }

  /** Handles one byte between pieces. */
  private step(chunk: Buffer, position: number): number {
    const byte = chunk[position]!;
    if (isWhitespace(byte)) return position + 1;
    if (this.at === At.KeyOrEnd || this.at === At.Key) return this.beginKey(byte, position);
    if (this.at === At.Value) return this.beginValue(byte, position);
    if (this.at === At.ItemOrEnd || this.at === At.Item) return this.beginItem(byte, position);
    this.at = this.afterPunctuation(byte);
    return position + 1;
  }

  private afterPunctuation(byte: number): At {
    switch (this.at) {
      case At.Start:
        expect(byte === OPEN_BRACE, 'the body must be a JSON object');
        return At.KeyOrEnd;
      case At.Colon:
        expect(byte === COLON, 'a colon is missing');
        return At.Value;
      case At.CommaOrEnd:
        return afterElement(byte, CLOSE_BRACE, At.Key, At.End);
      case At.ItemCommaOrEnd:
        return afterElement(byte, CLOSE_BRACKET, At.Item, At.CommaOrEnd);
      default:
        throw malformed('something stands after the end of the body');
    }
  }

  private beginKey(byte: number, position: number): number {
    if (byte === CLOSE_BRACE && this.at === At.KeyOrEnd) {
      this.at = At.End;
      return position + 1;
    }
    expect(byte === QUOTE, 'a member name is missing');
    this.beginPiece(At.InKey, byte);
    return position;
  }

  private beginValue(byte: number, position: number): number {
    if (this.memberName === 'requests') {
      expect(byte === OPEN_BRACKET, 'requests must be an array', 'requests');
      expect(!this.requestsSeen, 'requests appears twice', 'requests');
      this.requestsSeen = true;
      this.at = At.ItemOrEnd;
      return position + 1;
    }
    this.beginPiece(At.InValue, byte);
    return position;
  }

  private beginItem(byte: number, position: number): number {
    if (byte === CLOSE_BRACKET && this.at === At.ItemOrEnd) {
      this.at = At.CommaOrEnd;
      return position + 1;
    }
    const place = `requests[${this.itemIndex}]`;
    if (byte === COMMA || byte === CLOSE_BRACKET) throw malformed(`${place} is missing`, place);
    this.beginPiece(At.InItem, byte);
    return position;
  }

  private beginPiece(at: At, firstByte: number): void {
    this.at = at;
    this.scanner.begin(firstByte);
  }

  /** Reads the next part of the current piece; returns the position after it. */
  private scanPiece(chunk: Buffer, start: number): number {
    const end = this.scanner.scan(chunk, start);
    if (this.scanner.deepest > this.limits.maxDepth) throw malformed(`${this.pieceName()} is nested too deeply`);
    this.keep(chunk.subarray(start, end));
    if (this.scanner.finished) this.finishPiece();
    return end;
  }

  private keep(part: Buffer): void {
    const limit = this.at === At.InItem ? this.limits.maxItemBytes : this.limits.maxMemberBytes;
    if (this.parts.bytes + part.length > limit) {
      throw new AppError('payload_too_large', `${this.pieceName()} is larger than ${limit} bytes`);
    }
    this.parts.add(part);
  }

  private finishPiece(): void {
    const piece = this.parts.take();
    if (!isUtf8(piece)) throw malformed(`${this.pieceName()} is not valid UTF-8`);
    this.handOver(piece);
  }

  private handOver(piece: Buffer): void {
    if (this.at === At.InKey) {
      this.memberName = parseKey(piece);
      this.at = At.Colon;
    } else if (this.at === At.InValue) {
      this.handlers.onMember(this.memberName, piece);
      this.at = At.CommaOrEnd;
    } else {
      this.handlers.onItem(this.itemIndex, piece);
      this.itemIndex += 1;
      this.at = At.ItemCommaOrEnd;
    }
  }

  private pieceName(): string {
    if (this.at === At.InItem) return `requests[${this.itemIndex}]`;
    return this.at === At.InKey ? 'a member name' : 'a member';
  }
}

function afterElement(byte: number, close: number, next: At, end: At): At {
  if (byte === COMMA) return next;
  expect(byte === close, 'a comma is missing');
  return end;
}

function isWhitespace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function parseKey(piece: Buffer): string {
  try {
    return JSON.parse(piece.toString()) as string;
  } catch {
    throw malformed('a member name is malformed');
  }
}

function malformed(what: string, param?: string): AppError {
  const message = `Malformed batch input: ${what}`;
  return new AppError('invalid_request', message, param === undefined ? {} : { metadata: { param } });
}

function expect(holds: boolean, otherwise: string, param?: string): void {
  if (!holds) throw malformed(otherwise, param);
}
