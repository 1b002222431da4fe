export interface LeasedWorkOptions<Item> {
  /** Never throws. */
  readonly run: (item: Item) => Promise<unknown>;
  readonly onEnd: (item: Item) => void;
  /** Claims due work and begins it. Never throws. Absent if a separate task does this. */
  readonly look?: () => Promise<void>;
  /** The time from the end of a search to the next one; if absent, each search needs a call of `wake`. */
  readonly everyMs?: number;
}

/**
 * Runs leased rows side by side. It looks for more when woken, one look at a time, and waits for the end of all runs
 * when the process drains.
 */
export class LeasedWork<Item> {
  readonly #underWay = new Map<Item, Promise<void>>();
  #looking: Promise<void> | null = null;
  #isWoken = false;
  #isStopped = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly options: LeasedWorkOptions<Item>) {}

  get held(): readonly Item[] {
    return [...this.#underWay.keys()];
  }

  /** Searches now, or once more after the running search. */
  wake(): void {
    if (this.#isStopped) return;
    this.#isWoken = true;
    clearTimeout(this.#timer);
    this.#looking ??= this.#lookWhileWoken();
  }

  begin(item: Item): void {
    const run = this.options.run(item).then(() => {
      this.#underWay.delete(item);
      this.options.onEnd(item);
    });
    this.#underWay.set(item, run);
  }

  /** Searches no more, aborts work that takes longer than `graceMs`, and resolves when no work is running. */
  async drain(graceMs: number, cutOff: () => void): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#looking;
    const timer = setTimeout(cutOff, graceMs);
    await Promise.all(this.#underWay.values());
    clearTimeout(timer);
  }

  async #lookWhileWoken(): Promise<void> {
    const { look, everyMs } = this.options;
    while (this.#isWoken && !this.#isStopped) {
      this.#isWoken = false;
      await look?.();
    }
    this.#looking = null;
    if (everyMs !== undefined && !this.#isStopped) this.#timer = setTimeout(() => this.wake(), everyMs);
  }
}
