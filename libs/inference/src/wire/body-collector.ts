/** Collects a body up to a bound. */
export class BodyCollector {
  #chunks: Buffer[] = [];
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** False when the bound is passed; the chunk is kept all the same. */
  add(chunk: Buffer, bound: number): boolean {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    return this.#bytes <= bound;
  }

  get body(): Buffer {
    return this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks, this.#bytes);
  }
}
