const SLOTS = 32;

/** How calls ended, by second, for the last half minute. */
export class OutcomeRing {
  readonly #calls = new Uint32Array(SLOTS);
  readonly #failures = new Uint32Array(SLOTS);
  #second: number;
  #lastFailureSecond = Number.NEGATIVE_INFINITY;

  constructor(nowMs: number) {
    this.#second = secondOf(nowMs);
  }

  add(isFailure: boolean, nowMs: number): void {
    this.#advance(nowMs);
    const slot = this.#second % SLOTS;
    this.#calls[slot]! += 1;
    if (!isFailure) return;
    this.#failures[slot]! += 1;
    this.#lastFailureSecond = this.#second;
  }

  /** Calls and failures of so many seconds up to now, at most 31. */
  count(seconds: number, nowMs: number): { readonly calls: number; readonly failures: number } {
    this.#advance(nowMs);
    if (this.#second - this.#lastFailureSecond >= seconds) return NO_FAILURE;
    let calls = 0;
    let failures = 0;
    for (let ago = 0; ago < seconds; ago += 1) {
      const slot = (this.#second - ago) % SLOTS;
      calls += this.#calls[slot]!;
      failures += this.#failures[slot]!;
    }
    return { calls, failures };
  }

  clear(): void {
    this.#calls.fill(0);
    this.#failures.fill(0);
    this.#lastFailureSecond = Number.NEGATIVE_INFINITY;
  }

  #advance(nowMs: number): void {
    const second = secondOf(nowMs);
    if (second <= this.#second) return;
    const first = Math.max(this.#second + 1, second - SLOTS + 1);
    for (let each = first; each <= second; each += 1) {
      this.#calls[each % SLOTS] = 0;
      this.#failures[each % SLOTS] = 0;
    }
    this.#second = second;
  }
}

/** Returned when no call failed: the number of calls does not matter then. */
const NO_FAILURE = { calls: 0, failures: 0 };

function secondOf(nowMs: number): number {
  return Math.floor(nowMs / 1_000);
}
