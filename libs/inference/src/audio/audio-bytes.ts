import { GatheredPieces } from '@libs/contracts';

/**
 * The bytes of a recording, stored once and in the pieces in which they arrived. The pieces are sent to each endpoint
 * that is tried, without being joined.
 */
export class AudioBytes implements Iterable<Buffer> {
  readonly length: number;
  readonly #pieces: readonly Buffer[];
  /** The offset at which each piece begins. */
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

  /**
   * Returns the bytes from `start` to `end` (exclusive), or fewer if the recording is shorter; copied if they span
   * pieces.
   */
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

  /** Does nothing: a request has one recording, and the readers of each format have their own limits. */
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

/** The pieces of a recording that have arrived so far; more may follow. */
export interface GrowingPieces {
  readonly pieces: readonly Buffer[];
  /** Called after a piece was added. */
  onPiece: (() => void) | null;
}

/** Collects the pieces of a recording as they arrive, up to a limit. */
export class AudioCollector implements GrowingPieces {
  readonly #gathered = new GatheredPieces();
  onPiece: (() => void) | null = null;
  #isTooLong = false;

  constructor(readonly maxBytes: number) {}

  get length(): number {
    return this.#gathered.bytes;
  }

  /** The pieces so far, without the bytes that are still being collected into the next one. */
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
