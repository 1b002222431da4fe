import { IncomingMessage } from 'node:http';
import { GatheredPieces } from '@libs/contracts';
import { answerClientError } from './client-error';

/** Chunks that any body may have, whatever their size. Each `BYTES_PER_CHUNK` bytes of the body allow one more. */
const FREE_CHUNKS = 4_096;
const LEAST_CHUNK_BYTES = 64;

/**
 * A request whose body takes little memory while it waits for its reader, even if it arrives in tiny chunks. Node makes
 * a Buffer of each chunk, and stops reading from the connection only by the number of bytes: 64 KiB in one-byte chunks
 * take 35 MiB. Each chunk also takes 2 µs. So a body of many tiny chunks is refused and not read further.
 */
export class GatheringMessage extends IncomingMessage {
  /** Chunks that follow other bytes which are still unread. */
  readonly #gathered = new GatheredPieces();
  #chunks = 0;
  #bytes = 0;
  #isRefused = false;

  /**
   * Called by the parser with each chunk, and with null at the end. Reading from the connection stops when it returns
   * false.
   */
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

  /** All reads of the body pass through here, except those of listeners that take chunks as they arrive. */
  override read(size?: number): Buffer | null {
    this.#handOn();
    return super.read(size) as Buffer | null;
  }

  /** Called when the reader wants more; resumes the connection. */
  override _read(size: number): void {
    if (!this.#isRefused) super._read(size);
  }

  /** Refuses the body. Reading from the connection stays stopped, and the error ends the reader's wait. */
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
