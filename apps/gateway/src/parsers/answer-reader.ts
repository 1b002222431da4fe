import type { Readable } from 'node:stream';
import { GatheredPieces } from '@libs/contracts';

const PREFIX_BYTES = 4;
/** A million characters as JSON, each escaped, plus the rest of the answer. */
const LARGEST_ANSWER = 8 * 1024 * 1024;

/**
 * Reads the answers of a child process, which cannot be trusted: for each, four bytes of length, then JSON. Too many
 * bytes, or invalid JSON, end the reading.
 */
export class AnswerReader {
  readonly #gathered = new GatheredPieces();
  /** Number of bytes that must have arrived before the next part can be read. */
  #needed = PREFIX_BYTES;
  #error: Error | null = null;
  #waiting: PromiseWithResolvers<unknown> | null = null;

  constructor(private readonly output: Readable) {
    output.on('data', (piece: Buffer) => this.#add(piece));
    output.on('error', (error) => this.#fail(error));
  }

  /** Returns whether everything that the child has sent was read. */
  get isEmpty(): boolean {
    return this.#gathered.bytes === 0;
  }

  /** Resolves with the next answer, parsed. @throws Error if no further answer will arrive */
  next(): Promise<unknown> {
    if (this.#error !== null) return Promise.reject(this.#error);
    this.#waiting = Promise.withResolvers();
    const { promise } = this.#waiting;
    this.#deliver();
    return promise;
  }

  /** The child has ended. */
  end(cause?: unknown): void {
    this.#fail(new Error('The child of a parser ended', { cause }));
  }

  #add(piece: Buffer): void {
    if (this.#error !== null) return;
    this.#gathered.add(piece);
    if (this.#gathered.bytes > LARGEST_ANSWER) this.#fail(new Error('A parser answers too much'));
    else this.#deliver();
  }

  #deliver(): void {
    if (this.#waiting === null || this.#gathered.bytes < this.#needed) return;
    const all = this.#gathered.take();
    this.#needed = PREFIX_BYTES + all.readUInt32BE(0);
    if (this.#needed > LARGEST_ANSWER) return this.#fail(new Error('A parser announces too much'));
    if (all.length < this.#needed) return this.#gathered.add(all);
    const text = all.toString('utf8', PREFIX_BYTES, this.#needed);
    this.#gathered.add(all.subarray(this.#needed));
    this.#needed = PREFIX_BYTES;
    this.#settle(text);
  }

  #settle(text: string): void {
    try {
      this.#waiting?.resolve(JSON.parse(text));
      this.#waiting = null;
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  #fail(error: Error): void {
    if (this.#error !== null) return;
    this.#error = error;
    this.#gathered.clear();
    this.output.destroy();
    this.#waiting?.reject(error);
    this.#waiting = null;
  }
}
