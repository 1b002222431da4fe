import type { MediaBytes } from '../media-bytes';

/** So much is looked at at once: a read of its own for each frame costs more than the frame. */
const WINDOW_BYTES = 256 * 1024;

/** The bytes of a file around a place. */
export class Window {
  bytes: Buffer = Buffer.alloc(0);
  private start = 0;

  /** @param needed bytes behind a place that are in the window too, as far as the file has them */
  constructor(
    private readonly media: MediaBytes,
    private readonly needed: number,
  ) {}

  /** Returns where in `bytes` a place of the file is. Places are asked for in their order. */
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
