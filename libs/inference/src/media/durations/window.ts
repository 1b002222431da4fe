import type { MediaBytes } from '../media-bytes';

/** Bytes that are read at once: a separate read for each frame would cost more than the frame itself. */
const WINDOW_BYTES = 256 * 1024;

/** The bytes of a file around an offset. */
export class Window {
  bytes: Buffer = Buffer.alloc(0);
  private start = 0;

  /** @param needed bytes after an offset that the window must also contain, as far as the file has them */
  constructor(
    private readonly media: MediaBytes,
    private readonly needed: number,
  ) {}

  /** Returns the index in `bytes` of an offset of the file. Offsets must be requested in ascending order. */
  offsetOf(position: number): number {
    this.media.countPlaces(1);
    const end = this.start + this.bytes.length;
    if (position + this.needed > end && end < this.media.length) {
      this.bytes = this.media.slice(position, position + WINDOW_BYTES);
      this.start = position;
    }
    return position - this.start;
  }
}
