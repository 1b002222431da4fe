import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '@libs/errors';

/** Time in which every gateway settles the answers that are over: charges are gathered for 25 ms, then committed. */
const SETTLED_WITHIN_MS = 150;
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

/**
 * Returns a promise that resolves when the answers that are over by now are settled, wherever they were given. Null
 * where that cannot help, or where too many requests wait: then the refusal is final.
 */
export function afterSettlements(organizationId: string, refusal: unknown): Promise<void> | null {
  if (!(refusal instanceof AppError) || !heldBack.has(refusal)) return null;
  const count = waiting.get(organizationId) ?? 0;
  if (count >= MOST_WAITING || (count === 0 && waiting.size >= MOST_ORGANIZATIONS)) return null;
  waiting.set(organizationId, count + 1);
  return delay(SETTLED_WITHIN_MS).finally(() => {
    const left = waiting.get(organizationId)! - 1;
    if (left > 0) waiting.set(organizationId, left);
    else waiting.delete(organizationId);
  });
}

/**
 * Tries to set money aside, and once more if holds of answers that are over may be in the way. Without a refusal it
 * costs nothing.
 */
export async function tryTwice<T>(organizationId: string, attempt: () => Promise<T>): Promise<T> {
  try {
    return await attempt();
  } catch (error) {
    const settled = afterSettlements(organizationId, error);
    if (settled === null) throw error;
    await settled;
    return attempt();
  }
}
