import { IncomingMessage } from 'node:http';
import { GatheredPieces } from '@libs/contracts';

/**
 * A request whose body takes little memory while it waits for its reader, however small its chunks are. Node makes a
 * Buffer of each, and stops reading from the connection only at so many bytes: 64 KiB in chunks of one byte take
 * 35 MiB.
 */
export class GatheringMessage extends IncomingMessage {
  /** Chunks that follow bytes that are still unread. */
  readonly #gathered = new GatheredPieces();

  /** Called by the parser with each chunk, then with null. It stops the connection when this returns false. */
  override push(chunk: Buffer | null): boolean {
    if (chunk === null) {
      this.#handOn();
      return super.push(null);
    }
    if (this.readableLength === 0) return super.push(chunk);
    this.#gathered.add(chunk);
    return this.readableLength + this.#gathered.bytes < this.readableHighWaterMark;
  }

  /** Every way to the body leads through here, except for bytes that a listener takes as they come. */
  override read(size?: number): Buffer | null {
    this.#handOn();
    return super.read(size) as Buffer | null;
  }

  #handOn(): void {
    if (this.#gathered.bytes === 0) return;
    const pieces = this.#gathered.close();
    this.#gathered.clear();
    for (const piece of pieces) super.push(piece);
  }
}
