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
 * Limits how many unknown credentials of one source address are looked up. Each lookup costs a request to the auth app
 * and a query, or the check of a signature.
 *
 * A key that was valid before is always looked up, so keys in use behind a shared address cannot be locked out. A key
 * that is new to this process waits until the address is below its limit, which recovers every second. Only failures
 * count. Once there were failures, running lookups count too, so that a thousand simultaneous ones are not all
 * admitted.
 */
export class FailedAuthentications {
  readonly #rate: CellRate | null;
  readonly #failures: LocalCellRates;
  readonly #undecided = new Map<string, number>();
  /** Hashes of keys and names of their records, in the order of their first use. */
  readonly #knownGood = new Set<string>();

  /** @param failuresPerMinute for one source address; 0 means no limit */
  constructor(failuresPerMinute: number, monotonicNowMs: () => number = () => performance.now()) {
    const limit = perMinute('failed-authentications', failuresPerMinute);
    this.#rate = limit && cellRateOf(limit);
    this.#failures = new LocalCellRates(monotonicNowMs);
  }

  isKnownGood(keyHash: string): boolean {
    return this.#knownGood.has(keyHash);
  }

  /** @throws AppError rate_limit_exceeded if the address has sent too many unknown credentials */
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

  /** Ends what `begin` began. @param isFailure false also for a credential that could not be checked */
  end(address: string, isFailure: boolean): void {
    if (this.#rate === null) return;
    const undecided = (this.#undecided.get(address) ?? 1) - 1;
    if (undecided > 0) this.#undecided.set(address, undecided);
    else this.#undecided.delete(address);
    // Failures above the limit do not count, so that the next caller does not wait longer because of them.
    if (isFailure) this.#failures.take(address, this.#rate);
  }

  /**
   * Looks a credential up for an address, and counts a failure if it does not exist.
   * @param look returns null for an unknown credential
   * @throws AppError rate_limit_exceeded if the address has sent too many unknown credentials; any error of `look`
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

  /** Like `judge`, for a key by its hash. A key that was valid before is always looked up. */
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

  /** Removes a key that is no longer valid from the known ones. */
  bad(keyHash: string): void {
    this.#knownGood.delete(keyHash);
  }
}
