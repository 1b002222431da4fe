import { OutcomeRing } from './outcome-ring';
import type { RollingTime } from './rolling-histogram';

/** Shares of calls that were answered, in percent; null if there were no calls in the time window. */
export interface Uptime {
  readonly last5m: number | null;
  readonly last30m: number | null;
  readonly last1d: number | null;
}

/** Each has the current slice and those before it. */
const HALF_AN_HOUR: RollingTime = { sliceMs: 60_000, slices: 31 };
const A_DAY: RollingTime = { sliceMs: 1_800_000, slices: 49 };
const FIVE_MINUTES = 6;

/** Counts how calls to one endpoint ended: by minute for half an hour, by half hour for a day. */
export class UptimeCounts {
  readonly #byMinute: OutcomeRing;
  readonly #byHalfHour: OutcomeRing;

  constructor(nowMs: number) {
    this.#byMinute = new OutcomeRing(nowMs, HALF_AN_HOUR);
    this.#byHalfHour = new OutcomeRing(nowMs, A_DAY);
  }

  add(isFailure: boolean, nowMs: number): void {
    this.#byMinute.add(isFailure, nowMs);
    this.#byHalfHour.add(isFailure, nowMs);
  }

  uptime(nowMs: number): Uptime {
    return {
      last5m: percentAnswered(this.#byMinute.count(FIVE_MINUTES, nowMs)),
      last30m: percentAnswered(this.#byMinute.count(HALF_AN_HOUR.slices, nowMs)),
      last1d: percentAnswered(this.#byHalfHour.count(A_DAY.slices, nowMs)),
    };
  }
}

function percentAnswered({ calls, failures }: { readonly calls: number; readonly failures: number }): number | null {
  return calls === 0 ? null : Math.round(((calls - failures) / calls) * 10_000) / 100;
}
