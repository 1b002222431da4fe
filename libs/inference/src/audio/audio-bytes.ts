import { GatheredPieces } from '@libs/contracts';

/**
 * The bytes of a recording, held once and as they arrived: pieces are handed on to upstreams without being
 * joined, as often as an endpoint is tried.
 */
export class AudioBytes implements Iterable<Buffer> {
  readonly length: number;
  readonly #pieces: readonly Buffer[];
  /** Where each piece begins. */
  readonly #starts: readonly number[];

  constructor(pieces: readonly Buffer[]) {
    const starts: number[] = [];
    let length = 0;
    for (const piece of pieces) {
      starts.push(length);
      length += piece.length;
    }
    this.#pieces = pieces;
    this.#starts = starts;
    this.length = length;
  }

  [Symbol.iterator](): Iterator<Buffer> {
    return this.#pieces[Symbol.iterator]();
  }

  /** The bytes from `start` to `end` (exclusive), as many of them as there are; copied where they span pieces. */
  slice(start: number, end: number): Buffer {
    const from = Math.min(Math.max(0, start), this.length);
    const to = Math.min(Math.max(from, end), this.length);
    if (from === to) return Buffer.alloc(0);
    const first = this.#pieceAt(from);
    const offset = from - this.#starts[first]!;
    const piece = this.#pieces[first]!;
    if (offset + to - from <= piece.length) return piece.subarray(offset, offset + to - from);
    const joined = Buffer.allocUnsafe(to - from);
    let written = piece.copy(joined, 0, offset);
    for (let index = first + 1; written < joined.length; index += 1) {
      written += this.#pieces[index]!.copy(joined, written);
    }
    return joined;
  }

  /** Not counted: a request has one recording, and readers of each format have bounds of their own. */
  countPlaces(_places: number): void {}

  #pieceAt(position: number): number {
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#starts[middle]! <= position) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/** The pieces of a recording so far; more may come. */
export interface GrowingPieces {
  readonly pieces: readonly Buffer[];
  /** Called after a piece was added. */
  onPiece: (() => void) | null;
}

/** Takes the pieces of a recording as they come, up to a bound. */
export class AudioCollector implements GrowingPieces {
  readonly #gathered = new GatheredPieces();
  onPiece: (() => void) | null = null;
  #isTooLong = false;

  constructor(readonly maxBytes: number) {}

  get length(): number {
    return this.#gathered.bytes;
  }

  /** Pieces so far, without the bytes that are still being gathered into the next one. */
  get pieces(): readonly Buffer[] {
    return this.#gathered.closed;
  }

  /** Adds a piece. Returns false, and drops all pieces, once the recording exceeds `maxBytes`. */
  add(piece: Buffer): boolean {
    this.#isTooLong ||= this.length + piece.length > this.maxBytes;
    if (this.#isTooLong) {
      this.#gathered.clear();
      return false;
    }
    const before = this.pieces.length;
    this.#gathered.add(piece);
    if (this.pieces.length > before) this.onPiece?.();
    return true;
  }

  /** Returns all bytes that have arrived so far. */
  toAudio(): AudioBytes {
    const before = this.pieces.length;
    const audio = new AudioBytes([...this.#gathered.close()]);
    if (this.pieces.length > before) this.onPiece?.();
    return audio;
  }
}
