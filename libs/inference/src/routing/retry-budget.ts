import { LeastRecent } from './least-recent';

/** Retries per first attempt. */
const SHARE = 0.1;
const MOST_SAVED = 10;
const MOST_GROUPS = 4_096;

/**
 * Bounds how much harder an ailing upstream is hit by retries: each first attempt on it earns a tenth of a
 * retry, one retry is given in advance, and no more than ten are saved up. An upstream is a provider with
 * one credential, because a second credential is tried for its own sake. Going on to another upstream costs
 * nothing: that is a first attempt there.
 */
export class RetryBudget {
  readonly #tokens = new LeastRecent<{ count: number }>(MOST_GROUPS);

  firstAttempt(upstream: string): void {
    const tokens = this.#of(upstream);
    tokens.count = Math.min(MOST_SAVED, tokens.count + SHARE);
  }

  /** Whether a retry may be made; if so, it is paid for. */
  takeRetry(upstream: string): boolean {
    const tokens = this.#of(upstream);
    // Ten tenths add up to a little less than one.
    if (tokens.count < 1 - SHARE / 2) return false;
    tokens.count = Math.max(0, tokens.count - 1);
    return true;
  }

  #of(upstream: string): { count: number } {
    return this.#tokens.use(upstream, () => ({ count: 1 }));
  }
}
