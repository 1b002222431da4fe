import { AppError } from '@libs/errors';
import { isLocked, type RefusedRow } from '@libs/persistence';

const REST_MS = 5_000;
/** How long an organization is remembered after it was last locked, so that its next attempt is made separately too. */
const KEPT_MS = 600_000;
const RETRY_AFTER_SECONDS = 5;
/** Attempts that wait for a lock at a time. Each takes a connection until the lock timeout. */
const MOST_ATTEMPTS = 4;

interface Opened {
  readonly opening: { readonly organizationId: string };
}

interface Parted<T> {
  readonly free: readonly T[];
  readonly locked: readonly T[];
  /** Calls to try now: one list per organization. */
  readonly due: readonly (readonly T[])[];
}

export interface WaysToOpen<T> {
  readonly open: (calls: readonly T[]) => Promise<void>;
  readonly refuse: (calls: readonly T[]) => void;
  /** Runs work that other calls do not wait for. */
  readonly inBackground: (work: Promise<void>) => void;
}

/**
 * Organizations whose account is locked by another session, for example an operator's. A write that waits for the lock
 * takes until the lock timeout. So each organization gets one attempt in five seconds, separate from the calls of
 * others, and few attempts wait for a lock at a time.
 */
export class RecentlyLocked {
  readonly #untilMs = new Map<string, number>();
  #attempts = 0;

  /** @param lockedAmong returns those organizations whose account is locked now, without waiting for a lock */
  constructor(
    private readonly nowMs: () => number,
    private readonly lockedAmong: (organizationIds: readonly string[]) => Promise<ReadonlySet<string>>,
  ) {}

  noteLocked(failed: readonly RefusedRow<Opened>[]): void {
    for (const { row, error } of failed) {
      if (isLocked(error)) this.note(row.opening);
    }
  }

  /** Removes the organization, because a row of it was written. */
  unlocked({ organizationId }: Opened['opening']): void {
    if (this.#untilMs.size > 0) this.#untilMs.delete(organizationId);
  }

  isResting({ organizationId }: Opened['opening']): boolean {
    return (this.#untilMs.get(organizationId) ?? 0) > this.nowMs();
  }

  /** Opens the calls of free organizations. Those of others are refused or tried separately. */
  async openEach<T extends Opened>(calls: readonly T[], ways: WaysToOpen<T>): Promise<void> {
    const { free, locked, due } = this.split(calls);
    if (locked.length > 0) ways.refuse(locked);
    if (due.length > 0) ways.inBackground(this.openDue(due, ways));
    await ways.open(free);
  }

  /**
   * Splits calls by the state of their organization: free, locked (refuse now), or due for an attempt. An attempt
   * starts a new waiting time, so that calls that arrive meanwhile are refused.
   */
  private split<T extends Opened>(calls: readonly T[]): Parted<T> {
    if (this.#untilMs.size === 0) return { free: calls, locked: [], due: [] };
    for (const [organizationId, untilMs] of this.#untilMs) {
      if (untilMs + KEPT_MS <= this.nowMs()) this.#untilMs.delete(organizationId);
    }
    const isKnown = ({ opening }: T): boolean => this.#untilMs.has(opening.organizationId);
    const free = calls.filter((call) => !isKnown(call));
    const [locked, due]: [T[], T[][]] = [[], []];
    for (const some of Map.groupBy(calls.filter(isKnown), ({ opening }) => opening.organizationId).values()) {
      if (this.isResting(some[0]!.opening)) {
        locked.push(...some);
      } else {
        this.note(some[0]!.opening);
        due.push(some);
      }
    }
    return { free, locked, due };
  }

  /**
   * Opens calls that are due: those of accounts that are free now together, and each other organization by itself, as
   * far as attempts may wait.
   */
  private async openDue<T extends Opened>(
    due: readonly (readonly T[])[],
    { open, refuse }: WaysToOpen<T>,
  ): Promise<void> {
    const organizationOf = ([call]: readonly T[]): string => call!.opening.organizationId;
    const ids = due.map(organizationOf);
    // If the question fails, the attempts report why.
    const locked = await this.lockedAmong(ids).catch(() => new Set(ids));
    const free = due.filter((calls) => !locked.has(organizationOf(calls))).flat();
    const behindLocks = due.filter((calls) => locked.has(organizationOf(calls)));
    const tried = behindLocks.splice(0, MOST_ATTEMPTS - this.#attempts);
    if (behindLocks.length > 0) refuse(behindLocks.flat());
    this.#attempts += tried.length;
    const attempts = tried.map((calls) => open(calls).finally(() => (this.#attempts -= 1)));
    await Promise.all([open(free), ...attempts]);
  }

  private note({ organizationId }: Opened['opening']): void {
    this.#untilMs.set(organizationId, this.nowMs() + REST_MS);
  }

  failure(): AppError {
    return new AppError('unavailable', 'The service is temporarily unavailable', {
      internal: 'the account of the organization is locked',
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    });
  }
}
