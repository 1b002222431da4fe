import type { ServerResponse } from 'node:http';

/** Longer pieces are not copied into one buffer together with their frame. */
const LARGEST_COPIED = 16 * 1024;
/** Shorter unread pieces are covered by the memory that every stream reserves. */
const LARGEST_UNCOUNTED = 64 * 1024;
const CARRIAGE_RETURN = 0x0d;
const LINE_FEED = 0x0a;

/** Counts bytes that were written but not yet read. */
export interface UnreadMemory {
  /** Sets the number of unread bytes. */
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
   * Sends a chunk and its frame in one buffer with one system call (RFC 9112, section 7.1); the response object would
   * write them in four pieces. The response object still writes what only it can: the head, with the first piece, and
   * anything while an earlier response uses the socket.
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
