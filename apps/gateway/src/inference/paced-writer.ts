import type { ServerResponse } from 'node:http';

/** Longer pieces are not copied into one buffer with their frame. */
const LARGEST_COPIED = 16 * 1024;
/** Shorter pieces that wait for their reader are part of what a stream takes anyway. */
const LARGEST_UNCOUNTED = 64 * 1024;
const CARRIAGE_RETURN = 0x0d;
const LINE_FEED = 0x0a;

/** Where bytes count that were written and not yet read. */
export interface UnreadMemory {
  /** So many are unread now. */
  unread(bytes: number): void;
}

/** Writes a response no faster than its reader reads. */
export class PacedWriter {
  private isWaiting = false;
  /** The head has left. */
  private hasBegun = false;

  constructor(
    private readonly response: ServerResponse,
    private readonly idleMs: number,
    private readonly memory: UnreadMemory | null = null,
  ) {}

  get isOpen(): boolean {
    return !this.response.destroyed && !this.response.closed;
  }

  writeIfIdle(text: string): void {
    if (!this.isWaiting && this.isOpen) this.send(text);
  }

  /** Returns false if the client no longer reads. */
  write(bytes: Buffer | string): boolean | Promise<boolean> {
    if (!this.isOpen) return false;
    return this.send(bytes) || this.drained(bytes.length);
  }

  /**
   * The frame of a chunk and what is in it are one buffer and one call to the system (RFC 9112, section 7.1); the
   * response would write them in four pieces. It still writes what it alone can: the head, with the first piece, and
   * anything while an earlier response has the socket.
   */
  private send(bytes: Buffer | string): boolean {
    const { socket, chunkedEncoding } = this.response;
    const isSmall = typeof bytes !== 'string' && bytes.length > 0 && bytes.length <= LARGEST_COPIED;
    if (this.hasBegun && isSmall && chunkedEncoding && socket !== null) return socket.write(chunkOf(bytes));
    this.hasBegun = true;
    return this.response.write(bytes);
  }

  private drained(bytes: number): Promise<boolean> {
    this.isWaiting = true;
    if (bytes > LARGEST_UNCOUNTED) this.memory?.unread(bytes);
    const { response } = this;
    const source = response.socket ?? response;
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        source.off('drain', done);
        response.off('close', done);
        this.isWaiting = false;
        this.memory?.unread(0);
        resolve(this.isOpen);
      };
      const timer = setTimeout(() => response.destroy(), this.idleMs);
      source.once('drain', done);
      response.once('close', done);
    });
  }
}

function chunkOf(bytes: Buffer): Buffer {
  const size = bytes.length.toString(16);
  const chunk = Buffer.allocUnsafe(size.length + bytes.length + 4);
  let at = chunk.write(size, 'latin1');
  chunk[at++] = CARRIAGE_RETURN;
  chunk[at++] = LINE_FEED;
  at += bytes.copy(chunk, at);
  chunk[at++] = CARRIAGE_RETURN;
  chunk[at] = LINE_FEED;
  return chunk;
}
