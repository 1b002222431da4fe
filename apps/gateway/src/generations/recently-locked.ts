import { AppError } from '@libs/errors';
import { isLocked, type RefusedRow } from '@libs/persistence';

const REST_MS = 5_000;
/** How long an organization is remembered after it was last locked. */
const KEPT_MS = 600_000;
const RETRY_AFTER_SECONDS = 5;

const nothing = (): void => undefined;

interface Payer {
  readonly organizationId: string;
}

interface Opened {
  readonly opening: Payer;
}

export interface WaysToOpen<T> {
  /** Returns those organizations whose account is locked, without waiting for a lock. */
  readonly lockedAmong: (organizationIds: readonly string[] | 'all') => Promise<ReadonlySet<string>>;
  readonly open: (calls: readonly T[]) => Promise<void>;
  readonly refuse: (call: T, error: AppError) => void;
  /** Runs work that other calls do not wait for. */
  readonly inBackground: (work: Promise<void>) => void;
}

/**
 * Organizations whose account is locked by another session, for example an operator's. A write that waits for the lock
 * takes a connection until the lock timeout. So their calls are refused, and once in five seconds PostgreSQL is asked
 * whether the account is still locked. Organizations that had a lock timeout for another reason are remembered, too. The
 * calls of all of these are opened separately from those of others, with one connection, until one is open.
 */
export class RecentlyLocked<T extends Opened> {
  /**
   * Until when the calls of an organization are refused; the present or past if they are only opened separately. In the
   * order of their entry.
   */
  readonly #untilMs = new Map<string, number>();
  /** Calls that are opened separately, next. */
  readonly #due: T[] = [];
  #isOpening = false;
  #finding: Promise<ReadonlySet<string>> | null = null;

  constructor(
    private readonly nowMs: () => number,
    private readonly ways: WaysToOpen<T>,
  ) {}

  noteLocked(failed: readonly RefusedRow<Opened>[]): void {
    for (const { row, error } of failed) {
      if (isLocked(error)) this.noteTimeout(row.opening);
    }
  }

  /** Returns all organizations whose account is locked, so that the calls of none wait for a lock from now on. */
  findLocked(): Promise<ReadonlySet<string>> {
    this.#finding ??= this.ways
      .lockedAmong('all')
      .then((locked) => {
        this.rest(locked);
        return locked;
      })
      .finally(() => (this.#finding = null));
    return this.#finding;
  }

  /** Removes the organization, because a row of it was written. */
  unlocked({ organizationId }: Payer): void {
    if (this.#untilMs.size > 0) this.#untilMs.delete(organizationId);
  }

  isResting({ organizationId }: Payer): boolean {
    return (this.#untilMs.get(organizationId) ?? 0) > this.nowMs();
  }

  /**
   * Asks, if the organization is remembered, whether its account is locked. All share one question.
   * @throws AppError unavailable if it is
   */
  async mustBeFree(payer: Payer): Promise<void> {
    if (this.#untilMs.has(payer.organizationId) && !this.isResting(payer)) await this.findLocked();
    if (this.isResting(payer)) throw this.failure();
  }

  /** Extends a hold. @throws AppError unavailable, without a try if the account is known to be locked */
  async extend<Result>(payer: Payer, extend: () => Promise<Result>): Promise<Result> {
    if (this.isResting(payer)) throw this.failure();
    try {
      const result = await extend();
      this.unlocked(payer);
      return result;
    } catch (error) {
      if (isLocked(error)) {
        this.noteTimeout(payer);
        // If the question fails, the next attempt finds out.
        await this.findLocked().catch(nothing);
      }
      throw error;
    }
  }

  refuse(calls: readonly T[]): void {
    if (calls.length === 0) return;
    const error = this.failure();
    for (const call of calls) this.ways.refuse(call, error);
  }

  /** Opens the calls of free organizations. Those of others are refused, or opened in the background. */
  async openEach(calls: readonly T[]): Promise<void> {
    const { free, resting, due } = this.split(calls);
    this.refuse(resting);
    if (due.length > 0) {
      this.#due.push(...due);
      if (!this.#isOpening) this.ways.inBackground(this.openDue());
    }
    await this.ways.open(free);
  }

  /**
   * Splits calls by the state of their organization: free, resting (refuse now), or to be opened separately.
   */
  private split(calls: readonly T[]): Readonly<Record<'free' | 'resting' | 'due', readonly T[]>> {
    if (this.#untilMs.size === 0) return { free: calls, resting: [], due: [] };
    for (const [organizationId, untilMs] of this.#untilMs) {
      if (untilMs + KEPT_MS > this.nowMs()) break;
      this.#untilMs.delete(organizationId);
    }
    const stateOf = ({ opening }: T): 'free' | 'resting' | 'due' => {
      if (!this.#untilMs.has(opening.organizationId)) return 'free';
      return this.isResting(opening) ? 'resting' : 'due';
    };
    const { free = [], resting = [], due = [] } = Object.groupBy(calls, stateOf);
    return { free, resting, due };
  }

  /** One attempt at a time: however many accounts are locked, it takes one connection. */
  private async openDue(): Promise<void> {
    this.#isOpening = true;
    try {
      while (this.#due.length > 0) await this.openThese(this.#due.splice(0));
    } finally {
      this.#isOpening = false;
    }
  }

  private async openThese(due: readonly T[]): Promise<void> {
    const ids = new Set(due.map(({ opening }) => opening.organizationId));
    // If the question fails, opening the calls reports why.
    const locked = await this.ways.lockedAmong([...ids]).catch(() => new Set<string>());
    this.rest(locked);
    const isKept = ({ opening }: T): boolean => locked.has(opening.organizationId);
    this.refuse(due.filter(isKept));
    await this.ways.open(due.filter((call) => !isKept(call)));
  }

  private rest(organizationIds: Iterable<string>): void {
    for (const organizationId of organizationIds) this.enter(organizationId, this.nowMs() + REST_MS);
  }

  private noteTimeout(payer: Payer): void {
    if (!this.isResting(payer)) this.enter(payer.organizationId, this.nowMs());
  }

  private enter(organizationId: string, untilMs: number): void {
    this.#untilMs.delete(organizationId);
    this.#untilMs.set(organizationId, untilMs);
  }

  private failure(): AppError {
    return new AppError('unavailable', 'The service is temporarily unavailable', {
      internal: 'the account of the organization is locked',
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    });
  }
}
