import type { RollingTime } from './rolling-histogram';

/** Counts how calls ended in a rolling time window, by slice. */
export class OutcomeRing {
  readonly #calls: Uint32Array;
  readonly #failures: Uint32Array;
  #running: number;
  #lastFailure = Number.NEGATIVE_INFINITY;

  constructor(
    nowMs: number,
    private readonly time: RollingTime,
  ) {
    this.#calls = new Uint32Array(time.slices);
    this.#failures = new Uint32Array(time.slices);
    this.#running = Math.floor(nowMs / time.sliceMs);
  }

  add(isFailure: boolean, nowMs: number): void {
    this.#advance(nowMs);
    const slot = this.#running % this.time.slices;
    this.#calls[slot]! += 1;
    if (!isFailure) return;
    this.#failures[slot]! += 1;
    this.#lastFailure = this.#running;
  }

  /** Returns whether a call failed within the last `slices`. Very cheap. */
  hasFailure(slices: number, nowMs: number): boolean {
    this.#advance(nowMs);
    return this.#running - this.#lastFailure < slices;
  }

  /** Returns calls and failures within the last `slices`; at most all slices of the ring. */
  count(slices: number, nowMs: number): { readonly calls: number; readonly failures: number } {
    this.#advance(nowMs);
    let calls = 0;
    let failures = 0;
    for (let ago = 0; ago < slices; ago += 1) {
      // A process may be younger than the time window of the ring.
      const slot = (this.#running - ago + this.time.slices) % this.time.slices;
      calls += this.#calls[slot]!;
      failures += this.#failures[slot]!;
    }
    return { calls, failures };
  }

  clear(): void {
    this.#calls.fill(0);
    this.#failures.fill(0);
    this.#lastFailure = Number.NEGATIVE_INFINITY;
  }

  #advance(nowMs: number): void {
    const { sliceMs, slices } = this.time;
    const running = Math.floor(nowMs / sliceMs);
    if (running <= this.#running) return;
    const first = Math.max(this.#running + 1, running - slices + 1);
    for (let each = first; each <= running; each += 1) {
      this.#calls[each % slices] = 0;
      this.#failures[each % slices] = 0;
    }
    this.#running = running;
  }
}
