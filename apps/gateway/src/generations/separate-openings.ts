import type { AppError } from '@libs/errors';
import type { RecentlyLocked } from './recently-locked';

interface Opened {
  readonly opening: { readonly organizationId: string };
}

export interface WaysToOpen<T> {
  readonly open: (calls: readonly T[]) => Promise<void>;
  readonly refuse: (call: T, error: AppError) => void;
  /** Runs work that other calls do not wait for. */
  readonly inBackground: (work: Promise<void>) => void;
}

/**
 * Opens the calls of organizations that were recently locked separately from those of others, which would wait for the
 * same lock: one group at a time, so that they take one connection, however many accounts are locked.
 */
export class SeparateOpenings<T extends Opened> {
  /** Calls of the next group. */
  readonly #waiting: T[] = [];
  #isRunning = false;

  constructor(
    private readonly locked: RecentlyLocked,
    private readonly ways: WaysToOpen<T>,
  ) {}

  /** Refuses calls whose account is locked, and takes those of other remembered organizations. Returns all others. */
  takeFrom(calls: readonly T[]): readonly T[] {
    this.locked.forgetOld();
    if (this.locked.size === 0) return calls;
    const {
      others = [],
      resting = [],
      remembered = [],
    } = Object.groupBy(calls, ({ opening }) => {
      if (!this.locked.isRemembered(opening)) return 'others';
      return this.locked.isResting(opening) ? 'resting' : 'remembered';
    });
    this.refuse(resting);
    this.#waiting.push(...remembered);
    if (this.#waiting.length > 0 && !this.#isRunning) this.ways.inBackground(this.run());
    return others;
  }

  refuse(calls: readonly T[]): void {
    if (calls.length === 0) return;
    const error = this.locked.failure();
    for (const call of calls) this.ways.refuse(call, error);
  }

  private async run(): Promise<void> {
    this.#isRunning = true;
    try {
      while (this.#waiting.length > 0) await this.open(this.#waiting.splice(0));
    } finally {
      this.#isRunning = false;
    }
  }

  private async open(calls: readonly T[]): Promise<void> {
    const ids = new Set(calls.map(({ opening }) => opening.organizationId));
    // If the question fails, opening the calls reports why.
    const locked = await this.locked.ask([...ids]).catch(() => new Set<string>());
    const isLocked = ({ opening }: T): boolean => locked.has(opening.organizationId);
    this.refuse(calls.filter(isLocked));
    await this.ways.open(calls.filter((call) => !isLocked(call)));
  }
}
