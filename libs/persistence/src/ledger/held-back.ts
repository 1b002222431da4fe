import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '@libs/errors';

/** Time in which every gateway settles the answers that are over: charges are gathered for 25 ms, then committed. */
const SETTLED_WITHIN_MS = 150;
/** A caller with many calls at once may meet holds of others of them that have ended meanwhile. */
const MOST_TRIES = 6;
/** Requests of one organization that wait at one time, and such organizations; further ones are refused at once. */
const MOST_WAITING = 16;
const MOST_ORGANIZATIONS = 256;

const heldBack = new WeakSet<AppError>();
const waiting = new Map<string, number>();

/** Returns the same refusal, which now says that the amount is covered once enough of what is set aside is given back. */
export function noteHeldBack(refusal: AppError): AppError {
  heldBack.add(refusal);
  return refusal;
}

/** The tries of one request to set money aside, which holds of answers that are over may be in the way of. */
export class HeldBack {
  #tries = 1;
  #leftUsd: unknown;

  constructor(private readonly organizationId: string) {}

  /**
   * Returns a promise that resolves when the answers that are over by now are settled, wherever they were given. Null
   * where the refusal is final: holds are not in the way, none was given back since the last try, or too many requests
   * wait.
   */
  afterSettlements(refusal: unknown): Promise<void> | null {
    if (!(refusal instanceof AppError) || !heldBack.has(refusal)) return null;
    const { left_usd: leftUsd } = refusal.metadata ?? {};
    const isUnchanged = this.#tries > 1 && leftUsd === this.#leftUsd;
    if (isUnchanged || this.#tries === MOST_TRIES || !mayWait(this.organizationId)) return null;
    this.#leftUsd = leftUsd;
    this.#tries += 1;
    return wait(this.organizationId);
  }
}

/**
 * Tries to set money aside, and again while holds of answers that are over may be in the way. Without a refusal it costs
 * nothing.
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
