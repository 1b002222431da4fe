import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '@libs/errors';

/** Time in which every gateway settles the answers that are over: charges are gathered for 25 ms, then committed. */
const SETTLED_WITHIN_MS = 150;
/** Most tries: a caller with many concurrent calls may meet holds of other calls that have ended meanwhile. */
const MOST_TRIES = 6;
/** Most tries at once of money that was there after each refusal and that others took before the next try. */
const MOST_TRIES_AT_ONCE = 20;
/** Most waiting requests of one organization, and most such organizations; further ones are refused at once. */
const MOST_WAITING = 16;
const MOST_ORGANIZATIONS = 256;

const heldBack = new WeakSet<AppError>();
const covered = new WeakSet<AppError>();
const waiting = new Map<string, number>();

/** Returns the same refusal, marked to say that the amount is covered once enough of the held money is released. */
export function noteHeldBack(refusal: AppError): AppError {
  heldBack.add(refusal);
  return refusal;
}

/** Returns the same refusal, marked to say that money was released after it: what refused the amount covers it now. */
export function noteCovered(refusal: AppError): AppError {
  covered.add(refusal);
  return refusal;
}

/** The tries of one request to reserve money that may be blocked by holds of finished answers. */
export class HeldBack {
  #tries = 1;
  #triesAtOnce = 0;
  #leftUsd: unknown;

  constructor(private readonly organizationId: string) {}

  /**
   * Returns a promise that resolves when the answers that are finished by now are settled, in any process. Null if the
   * refusal is final: holds are not the cause, none was released since the last try, or too many requests wait. A
   * request whose amount is covered by now does not wait: its refusal would say that more is left than it reserves.
   */
  afterSettlements(refusal: unknown): Promise<void> | null {
    if (!(refusal instanceof AppError)) return null;
    if (covered.has(refusal)) return this.#atOnce();
    if (!heldBack.has(refusal)) return null;
    const { left_usd: leftUsd } = refusal.metadata ?? {};
    const isUnchanged = this.#tries > 1 && leftUsd === this.#leftUsd;
    if (isUnchanged || this.#tries === MOST_TRIES || !mayWait(this.organizationId)) return null;
    this.#leftUsd = leftUsd;
    this.#tries += 1;
    return wait(this.organizationId);
  }

  #atOnce(): Promise<void> | null {
    if (this.#triesAtOnce === MOST_TRIES_AT_ONCE) return null;
    this.#triesAtOnce += 1;
    return Promise.resolve();
  }
}

/**
 * Tries to reserve money, and again while holds of finished answers may block it. Without a refusal it costs nothing.
 */
export async function tryWhileHeldBack<T>(organizationId: string, attempt: () => Promise<T>): Promise<T> {
  const request = new HeldBack(organizationId);
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      const settled = request.afterSettlements(error);
      if (settled === null) throw error;
      await settled;
    }
  }
}

function mayWait(organizationId: string): boolean {
  const count = waiting.get(organizationId) ?? 0;
  return count < MOST_WAITING && (count > 0 || waiting.size < MOST_ORGANIZATIONS);
}

function wait(organizationId: string): Promise<void> {
  waiting.set(organizationId, (waiting.get(organizationId) ?? 0) + 1);
  return delay(SETTLED_WITHIN_MS).finally(() => {
    const left = waiting.get(organizationId)! - 1;
    if (left > 0) waiting.set(organizationId, left);
    else waiting.delete(organizationId);
  });
}
