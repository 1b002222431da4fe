/** An answer that is being read, with its counted bytes. */
export interface ReplyHolder {
  /** Bytes that are counted for this answer; 0 before the first `take`. */
  countedBytes: number;
  isPaused: boolean;
  /** Goes on reading. */
  resume(): void;
}

/** Share of the limit that may be kept while the oldest answer is still read beyond the limit. */
const KEPT_BESIDE_OLDEST = 1 / 4;

/**
 * Limits the memory of all whole answers that are being read, and of those that were read and are kept. Above the limit
 * only the oldest of them continues to be read. The others pause, which makes their providers wait, until it has ended.
 * If much is kept, the oldest one pauses too.
 */
export class ReplyBudget {
  /** Answers in the order of their first bytes. */
  readonly #held = new Set<ReplyHolder>();
  #bytes = 0;
  #kept = 0;
  #paused = 0;

  constructor(private readonly mostBytes: number) {}

  /** Counts bytes that were read. Returns false if the holder must pause until it is resumed. */
  take(holder: ReplyHolder, bytes: number): boolean {
    if (holder.countedBytes === 0) this.#held.add(holder);
    holder.countedBytes += bytes;
    this.#bytes += bytes;
    this.#setPaused(holder, this.#mustPause(holder));
    return !holder.isPaused;
  }

  /** Reports the bytes of answers that were read and stay in memory until their reader has stored them. */
  keep(bytes: number): void {
    const isLess = bytes < this.#kept;
    this.#kept = bytes;
    if (isLess && this.#paused > 0) this.#resumeOthers();
  }

  /** The holder reads no more. */
  giveBack(holder: ReplyHolder): void {
    if (!this.#held.delete(holder)) return;
    this.#bytes -= holder.countedBytes;
    holder.countedBytes = 0;
    this.#setPaused(holder, false);
    if (this.#paused > 0) this.#resumeOthers();
  }

  #resumeOthers(): void {
    for (const other of this.#held) {
      if (!other.isPaused || this.#mustPause(other)) continue;
      this.#setPaused(other, false);
      other.resume();
    }
  }

  #mustPause(holder: ReplyHolder): boolean {
    if (this.#bytes + this.#kept <= this.mostBytes) return false;
    return this.#oldest() !== holder || this.#kept > this.mostBytes * KEPT_BESIDE_OLDEST;
  }

  #setPaused(holder: ReplyHolder, isPaused: boolean): void {
    if (holder.isPaused === isPaused) return;
    holder.isPaused = isPaused;
    this.#paused += isPaused ? 1 : -1;
  }

  #oldest(): ReplyHolder | undefined {
    return this.#held.values().next().value;
  }
}
