/** Whose bytes are counted. */
export interface ReplyHolder {
  /** Goes on reading. */
  resume(): void;
}

interface Held {
  bytes: number;
  isPaused: boolean;
}

/**
 * Bounds what the whole answers that are being read weigh together. Beyond the bound only the oldest of them goes on
 * being read; the others pause, so that their providers wait, until it has ended.
 */
export class ReplyBudget {
  readonly #held = new Map<ReplyHolder, Held>();
  #bytes = 0;

  constructor(private readonly mostBytes: number) {}

  /** Counts bytes that were read. Returns false when the holder must pause until it is resumed. */
  take(holder: ReplyHolder, bytes: number): boolean {
    const held = this.#held.get(holder) ?? { bytes: 0, isPaused: false };
    this.#held.set(holder, held);
    held.bytes += bytes;
    this.#bytes += bytes;
    held.isPaused = this.#bytes > this.mostBytes && this.#oldest() !== holder;
    return !held.isPaused;
  }

  /** The holder reads no more. */
  giveBack(holder: ReplyHolder): void {
    const held = this.#held.get(holder);
    if (held === undefined) return;
    this.#held.delete(holder);
    this.#bytes -= held.bytes;
    for (const [other, one] of this.#held) {
      if (!one.isPaused || (this.#bytes > this.mostBytes && this.#oldest() !== other)) continue;
      one.isPaused = false;
      other.resume();
    }
  }

  #oldest(): ReplyHolder | undefined {
    return this.#held.keys().next().value;
  }
}
