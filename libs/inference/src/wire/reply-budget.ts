/** An answer that is being read, with its counted bytes. */
export interface ReplyHolder {
  /** Who asked, the narrowest first: the workspace and its organization. */
  readonly holders: readonly string[];
  /** Bytes that are counted for this answer; 0 before the first `take`. */
  countedBytes: number;
  isPaused: boolean;
  /** Goes on reading. */
  resume(): void;
}

/** Share of the limit that may be kept while the oldest answer is still read beyond the limit. */
const KEPT_BESIDE_OLDEST = 1 / 4;
/** What one workspace or organization may hold, as a multiple of what is left: alone, two thirds of the limit. */
const WEIGHT = 2;
/** Of the oldest answer only this part of the limit counts for the others, so that a slow one cannot hold them all up. */
const COUNTED_OF_OLDEST = WEIGHT / (WEIGHT + 1);
/** While less is left, the oldest answer of a workspace waits too, if it holds more than its share. */
const LEFT_FOR_SHARES = 1 / 4;
/** An answer of so many bytes never waits: nearly all answers are smaller, and all at once take little memory. */
const SMALL_BYTES = 32 * 1024;

/** The answers of one workspace or organization, in the order of their first bytes. */
interface Share {
  readonly replies: Set<ReplyHolder>;
  bytes: number;
}

/**
 * Limits the memory of all whole answers that are being read, and of those that were read and are kept. Above the limit
 * only the oldest of them continues to be read. The others pause, which makes their providers wait, until it has ended.
 * If much is kept, the oldest one pauses too.
 *
 * A workspace whose answers hold more than its share reads only the oldest of them, and none while little is left, so
 * that providers which answer slowly and at length, such as hosts of the caller's own, hold up others as little as
 * possible. The oldest of all is read on in any case, so one answer always comes to its end; a third of the limit is for
 * the others, however large it is.
 */
export class ReplyBudget {
  /** Answers in the order of their first bytes. */
  readonly #held = new Set<ReplyHolder>();
  readonly #shares = new Map<string, Share>();
  #bytes = 0;
  #kept = 0;
  #paused = 0;

  constructor(
    private readonly mostBytes: number,
    private readonly smallBytes = SMALL_BYTES,
  ) {}

  /** Counts bytes that were read. Returns false if the holder must pause until it is resumed. */
  take(holder: ReplyHolder, bytes: number): boolean {
    if (holder.countedBytes === 0) this.#held.add(holder);
    holder.countedBytes += bytes;
    this.#bytes += bytes;
    for (const share of this.#sharesOf(holder)) {
      share.replies.add(holder);
      share.bytes += bytes;
    }
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
    for (const share of this.#sharesOf(holder)) {
      share.replies.delete(holder);
      share.bytes -= holder.countedBytes;
    }
    for (const name of holder.holders) if (this.#shares.get(name)?.replies.size === 0) this.#shares.delete(name);
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
    if (holder.countedBytes <= this.smallBytes) return false;
    const left = this.mostBytes - this.#bytes - this.#kept;
    const oldest = oldestOf(this.#held)!;
    if (oldest === holder) return left < 0 && this.#kept > this.mostBytes * KEPT_BESIDE_OLDEST;
    return this.#mustWaitFor(oldest, holder, left);
  }

  #mustWaitFor(oldest: ReplyHolder, holder: ReplyHolder, leftInAll: number): boolean {
    const left = leftInAll + Math.max(0, oldest.countedBytes - this.mostBytes * COUNTED_OF_OLDEST);
    if (left < 0) return true;
    const isLittle = left < this.mostBytes * LEFT_FOR_SHARES;
    return this.#sharesOf(holder).some(
      ({ bytes, replies }) => bytes > WEIGHT * left && (isLittle || oldestOf(replies) !== holder),
    );
  }

  #sharesOf({ holders }: ReplyHolder): readonly Share[] {
    return holders.filter(Boolean).map((name) => {
      const share = this.#shares.get(name) ?? { replies: new Set(), bytes: 0 };
      this.#shares.set(name, share);
      return share;
    });
  }

  #setPaused(holder: ReplyHolder, isPaused: boolean): void {
    if (holder.isPaused === isPaused) return;
    holder.isPaused = isPaused;
    this.#paused += isPaused ? 1 : -1;
  }
}

function oldestOf(replies: ReadonlySet<ReplyHolder>): ReplyHolder | undefined {
  return replies.values().next().value;
}
