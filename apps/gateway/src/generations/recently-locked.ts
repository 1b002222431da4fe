import { AppError } from '@libs/errors';
import { isLocked, type RefusedRow } from '@libs/persistence';

const REST_MS = 5_000;
/** How long an organization is remembered after it was last locked, so that its next attempt is made separately too. */
const KEPT_MS = 600_000;
const RETRY_AFTER_SECONDS = 5;

interface Opened {
  readonly opening: { readonly organizationId: string };
}

interface Parted<T> {
  readonly free: readonly T[];
  readonly locked: readonly T[];
  /** Calls to try now: one list per organization. */
  readonly due: readonly (readonly T[])[];
}

/**
 * Organizations whose account is locked by another session, for example an operator's. A write that waits for the lock
 * takes until the lock timeout. So each organization gets one attempt in five seconds, separate from the calls of
 * others.
 */
export class RecentlyLocked {
  readonly #untilMs = new Map<string, number>();

  constructor(private readonly nowMs: () => number) {}

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

  /**
   * Splits calls by the state of their organization: free, locked (refuse now), or due for an attempt. An attempt
   * starts a new waiting time, so that calls that arrive meanwhile are refused.
   */
  split<T extends Opened>(calls: readonly T[]): Parted<T> {
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
