import { randomInt } from 'node:crypto';
import type { MediaBytes } from '../media-bytes';
import { isOneBlock } from './aac/block';

/** Three hours of AAC have this many. */
const MOST_FRAMES = 600_000;
/** Enough for a frame of eight channels. Longer frames hold several blocks. */
const MOST_FRAME_BYTES = 6_144;
/** Most frames of a file that are read; each takes about ten microseconds. */
const MOST_READ = 128;
/** Bytes that are read at once, because small frames are next to each other. */
const READ_BYTES = 8_192;
/** Cost of reading one byte of a frame, in places of `ReadBudget`. */
const PLACES_OF_BYTE = 0.5;

/**
 * Offsets of the AAC frames in a file. Decoders play all blocks in a frame, so a file with several blocks per frame
 * plays longer than it states: with silence, up to 200 times as long. To find the blocks of a frame all of its bits
 * must be read, so only a random sample of frames is checked. Larger frames are chosen more often, because they have
 * room for more blocks.
 */
export class FramePlaces {
  readonly #starts: number[] = [];
  readonly #sizes: number[] = [];
  #bytes = 0;
  #isUsual = true;

  get count(): number {
    return this.#starts.length;
  }

  /** Bytes of all frames together; several frames may be the same bytes of the file. */
  get bytes(): number {
    return this.#bytes;
  }

  add(start: number, bytes: number): void {
    this.#isUsual &&= this.count < MOST_FRAMES;
    if (!this.#isUsual) return;
    this.#starts.push(start);
    this.#sizes.push(bytes);
    this.#bytes += bytes;
  }

  get areGivenUp(): boolean {
    return !this.#isUsual;
  }

  /** Marks the offsets as unreliable: decoders may look for frames elsewhere, or there are too many. */
  giveUp(): void {
    this.#isUsual = false;
  }

  /** Returns the places together with those of another part of the file. */
  with(others: FramePlaces): this {
    others.#starts.forEach((start, index) => this.add(start, others.#sizes[index]!));
    this.#isUsual &&= others.#isUsual;
    return this;
  }

  /** Returns whether each checked frame is exactly one block, at a sample rate with this code. */
  areBlocks(file: MediaBytes, rateCode: number): boolean {
    if (!this.#isUsual || this.#sizes.some((bytes) => bytes > MOST_FRAME_BYTES)) return false;
    let window: Buffer = Buffer.alloc(0);
    let windowStart = 0;
    return this.#chosen().every((index) => {
      // The frame lies completely outside the file.
      const start = this.#starts[index]!;
      if (start >= file.length) return true;
      const end = start + this.#sizes[index]!;
      if (start < windowStart || end > windowStart + window.length) {
        window = file.slice(start, Math.max(end, start + READ_BYTES));
        windowStart = start;
      }
      file.countPlaces((end - start) * PLACES_OF_BYTE);
      return isOneBlock(window.subarray(start - windowStart, end - windowStart), rateCode);
    });
  }

  /** Returns which frames to check, in order: those that contain one of several randomly chosen bytes. */
  #chosen(): readonly number[] {
    if (this.count <= MOST_READ) return this.#sizes.flatMap((bytes, index) => (bytes > 0 ? [index] : []));
    const targets = Array.from({ length: this.#bytes > 0 ? MOST_READ : 0 }, () => randomInt(this.#bytes));
    targets.sort((one, other) => one - other);
    const chosen: number[] = [];
    let passed = 0;
    let next = 0;
    for (let index = 0; index < this.count && next < targets.length; index += 1) {
      passed += this.#sizes[index]!;
      if (targets[next]! < passed) chosen.push(index);
      while (next < targets.length && targets[next]! < passed) next += 1;
    }
    return chosen;
  }
}
