import { counter } from '@libs/platform';
import { cellRateOf, LocalCellRates, type CellRate } from '../limits/gcra';
import { rateLimitError } from '../limits/rate-limiter';
import { perMinute } from '../limits/rate-limits';

const refusals = counter({
  name: 'sluice_authentications_refused_total',
  help: 'Credentials that were not looked up because their source address had shown too many unknown ones',
});

const MOST_KNOWN_GOOD = 20_000;

/**
 * Bounds how many unknown credentials of one source address are looked up: each costs a request to the auth app and a
 * query, or the check of a signature.
 *
 * A key that was good before is always looked up, so an address that many share cannot be closed to the keys in use
 * there. A key that this process has not seen yet waits until the address is below its limit, which each second raises.
 * Only failures count. What is being looked up counts as well once there were failures, so that a thousand at the same
 * time are not all let through.
 */
export class FailedAuthentications {
  readonly #rate: CellRate | null;
  readonly #failures: LocalCellRates;
  readonly #undecided = new Map<string, number>();
  /** Hashes; those used for the first time longest ago come first. */
  readonly #knownGood = new Set<string>();

  /** @param failuresPerMinute of one source address; 0 is no limit */
  constructor(failuresPerMinute: number, monotonicNowMs: () => number = () => performance.now()) {
    const limit = perMinute('failed-authentications', failuresPerMinute);
    this.#rate = limit && cellRateOf(limit);
    this.#failures = new LocalCellRates(monotonicNowMs);
  }

  isKnownGood(keyHash: string): boolean {
    return this.#knownGood.has(keyHash);
  }

  /** @throws AppError rate_limit_exceeded when the address has shown too many unknown credentials */
  begin(address: string): void {
    if (this.#rate === null) return;
    const undecided = this.#undecided.get(address) ?? 0;
    const verdict = this.#failures.takeAll([{ key: address, rate: this.#rate, count: 0 }]);
    if (verdict.resetAfterMs > 0 && verdict.remaining <= undecided) {
      refusals.inc();
      throw rateLimitError({ ...verdict, retryAfterMs: this.#rate.intervalMs });
    }
    this.#undecided.set(address, undecided + 1);
  }

  /** Ends what `begin` began. @param isFailure false also for a credential that could not be judged */
  end(address: string, isFailure: boolean): void {
    if (this.#rate === null) return;
    const undecided = (this.#undecided.get(address) ?? 1) - 1;
    if (undecided > 0) this.#undecided.set(address, undecided);
    else this.#undecided.delete(address);
    // Failures beyond the limit add nothing, so the next caller does not wait longer for them.
    if (isFailure) this.#failures.take(address, this.#rate);
  }

  /**
   * Looks a credential up for an address and counts it if there is no such credential.
   *
   * @param look returns null for an unknown credential
   * @throws AppError rate_limit_exceeded when the address has shown too many unknown credentials; what `look` throws
   */
  async judge<T>(address: string, look: () => Promise<T | null>): Promise<T | null> {
    this.begin(address);
    let isFailure = false;
    try {
      const found = await look();
      isFailure = found === null;
      return found;
    } finally {
      this.end(address, isFailure);
    }
  }

  /** As `judge`, for a key by its hash: one that was good before is looked up at any time. */
  async judgeKey<T>(address: string, keyHash: string, look: () => Promise<T | null>): Promise<T | null> {
    const found = await (this.isKnownGood(keyHash) ? look() : this.judge(address, look));
    if (found === null) this.bad(keyHash);
    else this.good(keyHash);
    return found;
  }

  good(keyHash: string): void {
    if (this.#rate === null) return;
    this.#knownGood.add(keyHash);
    if (this.#knownGood.size > MOST_KNOWN_GOOD) this.#knownGood.delete(this.#knownGood.values().next().value!);
  }

  /** Forgets a key that is no longer valid. */
  bad(keyHash: string): void {
    this.#knownGood.delete(keyHash);
  }
}
