import { AppError } from '@libs/errors';

const REST_MS = 5_000;
const RETRY_AFTER_SECONDS = 5;

interface Opened {
  readonly opening: { readonly organizationId: string };
}

/**
 * Organizations whose account another session has locked, as an operator's may. Each try to write behind the lock takes
 * until the lock timeout, in which the calls of all others wait; so there is one in five seconds.
 */
export class RecentlyLocked {
  readonly #untilMs = new Map<string, number>();

  note({ organizationId }: Opened['opening']): void {
    this.#untilMs.set(organizationId, performance.now() + REST_MS);
  }

  /** Parts the calls of organizations that are locked from the others. */
  among<T extends Opened>(calls: readonly T[]): { readonly free: readonly T[]; readonly locked: readonly T[] } {
    const nowMs = performance.now();
    for (const [organizationId, untilMs] of this.#untilMs) {
      if (untilMs <= nowMs) this.#untilMs.delete(organizationId);
    }
    if (this.#untilMs.size === 0) return { free: calls, locked: [] };
    const isLocked = ({ opening }: T): boolean => this.#untilMs.has(opening.organizationId);
    return { free: calls.filter((call) => !isLocked(call)), locked: calls.filter(isLocked) };
  }

  failure(): AppError {
    return new AppError('unavailable', 'The service is temporarily unavailable', {
      internal: 'the account of the organization is locked',
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    });
  }
}
