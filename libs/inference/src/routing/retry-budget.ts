import { LeastRecent } from './least-recent';

/** Retries per first attempt. */
const SHARE = 0.1;
const MOST_SAVED = 10;
const MOST_GROUPS = 4_096;

/**
 * Limits the additional load of retries on an upstream with failures. Each first attempt adds a tenth of a retry, one
 * retry is available from the start, and at most ten are saved up. An upstream is a provider with one credential, so a
 * second credential has its own budget. Falling back to another upstream is a first attempt there and costs nothing.
 */
export class RetryBudget {
  readonly #tokens = new LeastRecent<{ count: number }>(MOST_GROUPS);

  firstAttempt(upstream: string): void {
    const tokens = this.#of(upstream);
    tokens.count = Math.min(MOST_SAVED, tokens.count + SHARE);
  }

  /** Returns whether a retry may be made, and if so, takes it from the budget. */
  takeRetry(upstream: string): boolean {
    const tokens = this.#of(upstream);
    // Because of rounding, ten tenths add up to slightly less than one.
    if (tokens.count < 1 - SHARE / 2) return false;
    tokens.count = Math.max(0, tokens.count - 1);
    return true;
  }

  #of(upstream: string): { count: number } {
    return this.#tokens.use(upstream, () => ({ count: 1 }));
  }
}
