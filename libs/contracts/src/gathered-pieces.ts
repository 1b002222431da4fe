/**
 * Smaller pieces are copied together: a Buffer object takes about 500 bytes in addition to its content, and a sender
 * may send tiny pieces.
 */
const SMALL_PIECE = 4 * 1024;
const FIRST_BLOCK = 1024;
const LARGEST_BLOCK = 64 * 1024;
const NO_BLOCK = Buffer.alloc(0);

/**
 * Collects bytes that arrive in pieces. Small pieces are copied together, so that the memory in use stays close to the
 * number of bytes. Large pieces, and a small one that stays alone, are kept without a copy.
 */
export class GatheredPieces {
  #pieces: Buffer[] = [];
  #bytes = 0;
  /** A small piece that no other small one has followed yet. */
  #lone: Buffer | null = null;
  /** Small pieces are copied into this block one after another. Its used part never changes. */
  #block = NO_BLOCK;
  #start = 0;
  #end = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** The pieces so far, without small ones that the next may be added to. Grows while pieces are added. */
  get closed(): readonly Buffer[] {
    return this.#pieces;
  }

  add(piece: Buffer): void {
    this.#bytes += piece.length;
    if (piece.length >= SMALL_PIECE) {
      this.close();
      this.#pieces.push(piece);
    } else if (this.#start === this.#end && this.#lone === null) {
      if (piece.length > 0) this.#lone = piece;
    } else {
      const lone = this.#lone;
      this.#lone = null;
      if (lone !== null) this.#copy(lone);
      this.#copy(piece);
    }
  }

  /** Returns all pieces. Bytes that are added later form new pieces. */
  close(): readonly Buffer[] {
    if (this.#lone !== null) this.#pieces.push(this.#lone);
    if (this.#start < this.#end) this.#pieces.push(this.#block.subarray(this.#start, this.#end));
    this.#lone = null;
    this.#start = this.#end;
    return this.#pieces;
  }

  /** Returns all bytes as one buffer and clears the collection. */
  take(): Buffer {
    const pieces = this.close();
    const all = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces, this.#bytes);
    this.clear();
    return all;
  }

  clear(): void {
    this.#pieces = [];
    this.#bytes = 0;
    this.#lone = null;
    this.#start = this.#end;
  }

  #copy(piece: Buffer): void {
    if (this.#end + piece.length > this.#block.length) {
      this.close();
      const length = Math.min(LARGEST_BLOCK, Math.max(FIRST_BLOCK, this.#block.length * 2, piece.length));
      // Not from Node's pool, whose memory is shared with other buffers.
      this.#block = Buffer.allocUnsafeSlow(length);
      this.#start = 0;
      this.#end = 0;
    }
    this.#end += piece.copy(this.#block, this.#end);
  }
}
