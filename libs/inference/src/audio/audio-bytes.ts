/** Smaller pieces are gathered: each piece of a body costs an object, and a slow sender makes many. */
const SMALL_PIECE = 4 * 1024;
const GATHERED_PIECE = 64 * 1024;

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

/** The pieces of a recording of which more may come. */
export interface GrowingPieces {
  readonly pieces: readonly Buffer[];
  /** Called after a piece was added. */
  onPiece: (() => void) | null;
}

/** Takes the pieces of a recording as they come, up to a bound. */
export class AudioCollector implements GrowingPieces {
  readonly #pieces: Buffer[] = [];
  onPiece: (() => void) | null = null;
  #gathered: Buffer | null = null;
  #gatheredBytes = 0;
  #length = 0;

  constructor(readonly maxBytes: number) {}

  get length(): number {
    return this.#length;
  }

  /** Without what is still gathered. */
  get pieces(): readonly Buffer[] {
    return this.#pieces;
  }

  /** False, and nothing is kept, once the bound is passed. */
  add(piece: Buffer): boolean {
    this.#length += piece.length;
    if (this.#length > this.maxBytes) {
      this.#pieces.length = 0;
      this.#gathered = null;
      return false;
    }
    if (piece.length >= SMALL_PIECE) {
      this.#closeGathered();
      this.#push(piece);
    } else this.#gather(piece);
    return true;
  }

  /** What is there so far, while more comes. */
  soFar(): AudioBytes {
    const gathered = this.#gathered === null ? [] : [this.#gathered.subarray(0, this.#gatheredBytes)];
    return new AudioBytes([...this.#pieces, ...gathered]);
  }

  /** All of it. */
  toAudio(): AudioBytes {
    this.#closeGathered();
    return new AudioBytes(this.#pieces);
  }

  #gather(piece: Buffer): void {
    if (this.#gathered !== null && this.#gatheredBytes + piece.length > GATHERED_PIECE) this.#closeGathered();
    this.#gathered ??= Buffer.allocUnsafeSlow(GATHERED_PIECE);
    this.#gatheredBytes += piece.copy(this.#gathered, this.#gatheredBytes);
  }

  #closeGathered(): void {
    if (this.#gathered === null) return;
    this.#push(this.#gathered.subarray(0, this.#gatheredBytes));
    this.#gathered = null;
    this.#gatheredBytes = 0;
  }

  #push(piece: Buffer): void {
    this.#pieces.push(piece);
    this.onPiece?.();
  }
}
