import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '@libs/errors';
import { isLocked, type RefusedRow } from '@libs/persistence';

const REST_MS = 5_000;
/** How long an organization is remembered after it was last locked. */
const KEPT_MS = 600_000;
const RETRY_AFTER_SECONDS = 5;
/** How long a running call waits for a locked account. */
const LONGEST_WAIT_MS = 30_000;
const LOOK_AGAIN_MS = 250;

interface Payer {
  readonly organizationId: string;
}

const nothing = (): void => undefined;

/**
 * Organizations whose account is locked by another session, for example an operator's. A write that waits for the lock
 * takes a connection until the lock timeout. So their calls are refused, and once in five seconds PostgreSQL is asked
 * whether the account is still locked. Organizations that had a lock timeout for another reason are remembered, too.
 */
export class RecentlyLocked {
  /** Until when the calls of an organization are refused; not in the future if it is only remembered. By that time. */
  readonly #untilMs = new Map<string, number>();
  #finding: Promise<ReadonlySet<string>> | null = null;

  /** @param lockedAmong returns those organizations whose account is locked, without waiting for a lock */
  constructor(
    private readonly nowMs: () => number,
    private readonly lockedAmong: (organizationIds: readonly string[] | 'all') => Promise<ReadonlySet<string>>,
  ) {}

  /** Remembers the organizations of calls that had a lock timeout. */
  noteTimeouts(failed: readonly RefusedRow<{ readonly opening: Payer }>[]): void {
    for (const { row, error } of failed) {
      if (isLocked(error)) this.noteTimeout(row.opening);
    }
  }

  /** Returns all organizations whose account is locked, so that the calls of none wait for a lock from now on. */
  findLocked(): Promise<ReadonlySet<string>> {
    this.#finding ??= this.ask('all').finally(() => (this.#finding = null));
    return this.#finding;
  }

  /** Returns those organizations whose account is locked. */
  async ask(organizationIds: readonly string[] | 'all'): Promise<ReadonlySet<string>> {
    const locked = await this.lockedAmong(organizationIds);
    for (const organizationId of locked) this.enter(organizationId, this.nowMs() + REST_MS);
    return locked;
  }

  /** Forgets the organization, because a row of it was written. */
  unlocked({ organizationId }: Payer): void {
    if (this.#untilMs.size > 0) this.#untilMs.delete(organizationId);
  }

  /** True for at most five seconds after the account was found locked. */
  isResting({ organizationId }: Payer): boolean {
    return (this.#untilMs.get(organizationId) ?? 0) > this.nowMs();
  }

  isRemembered({ organizationId }: Payer): boolean {
    return this.#untilMs.has(organizationId);
  }

  /** Number of organizations that are remembered. */
  get size(): number {
    return this.#untilMs.size;
  }

  /** Forgets organizations that were last locked long ago. */
  forgetOld(): void {
    for (const [organizationId, untilMs] of this.#untilMs) {
      if (untilMs + KEPT_MS > this.nowMs()) break;
      this.#untilMs.delete(organizationId);
    }
  }

  /**
   * Runs work of a running call, and runs it again if the account turns out to be locked, once it is free. While it
   * waits, it asks once in five seconds; all calls share one question.
   * @throws AppError unavailable if the account stays locked for 30 seconds or the call ends meanwhile
   */
  async onceFree<Result>(payer: Payer, isEnded: () => boolean, work: () => Promise<Result>): Promise<Result> {
    const endMs = this.nowMs() + LONGEST_WAIT_MS;
    for (;;) {
      if (this.isRemembered(payer) && !this.isResting(payer)) await this.findLocked();
      if (!this.isResting(payer)) {
        try {
          return await work();
        } catch (error) {
          if (!this.isResting(payer)) throw error;
        }
      }
      if (isEnded() || this.nowMs() >= endMs) throw this.failure();
      await delay(LOOK_AGAIN_MS);
    }
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

  failure(): AppError {
    return new AppError('unavailable', 'The service is temporarily unavailable', {
      internal: 'the account of the organization is locked',
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    });
  }

  private noteTimeout(payer: Payer): void {
    if (!this.isResting(payer)) this.enter(payer.organizationId, this.nowMs());
  }

  private enter(organizationId: string, untilMs: number): void {
    this.#untilMs.delete(organizationId);
    this.#untilMs.set(organizationId, untilMs);
  }
}
