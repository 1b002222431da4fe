import { IncomingMessage } from 'node:http';
import { GatheredPieces } from '@libs/contracts';
import { answerClientError } from './client-error';

/** Chunks of any size that a body may have; it may have one more for each so many bytes. */
const FREE_CHUNKS = 4_096;
const LEAST_CHUNK_BYTES = 64;

/**
 * A request whose body takes little memory while it waits for its reader, however small its chunks are. Node makes a
 * Buffer of each, and stops reading from the connection only at so many bytes: 64 KiB in chunks of one byte take
 * 35 MiB. Each chunk also takes 2 us, so a body of many chunks of a few bytes is refused, and no more of it is read.
 */
export class GatheringMessage extends IncomingMessage {
  /** Chunks that follow bytes that are still unread. */
  readonly #gathered = new GatheredPieces();
  #chunks = 0;
  #bytes = 0;
  #isRefused = false;

  /** Called by the parser with each chunk, then with null. It stops the connection when this returns false. */
  override push(chunk: Buffer | null): boolean {
    if (this.#isRefused) return false;
    if (chunk === null) {
      this.#handOn();
      return super.push(null);
    }
    this.#chunks += 1;
    this.#bytes += chunk.length;
    if ((this.#chunks - FREE_CHUNKS) * LEAST_CHUNK_BYTES > this.#bytes) return this.#refuse();
    if (this.readableLength === 0) return super.push(chunk);
    this.#gathered.add(chunk);
    return this.readableLength + this.#gathered.bytes < this.readableHighWaterMark;
  }

  /** Every way to the body leads through here, except for bytes that a listener takes as they come. */
  override read(size?: number): Buffer | null {
    this.#handOn();
    return super.read(size) as Buffer | null;
  }

  /** Called when the reader wants more; it starts the connection again. */
  override _read(size: number): void {
    if (!this.#isRefused) super._read(size);
  }

  /** The connection stays stopped. Its end also ends the wait of the reader. */
  #refuse(): boolean {
    this.#isRefused = true;
    answerClientError(Object.assign(new Error('The body comes in tiny chunks'), { code: 'TINY_CHUNKS' }), this.socket);
    return false;
  }

  #handOn(): void {
    if (this.#gathered.bytes === 0) return;
    const pieces = this.#gathered.close();
    this.#gathered.clear();
    for (const piece of pieces) super.push(piece);
  }
}
