import type { LaneSpeed } from '@libs/persistence';

/** Time after which half of the measured values is forgotten, counting only time in which the quota was called. */
const HALF_LIFE_MS = 60_000;
/** Most quotas that are remembered, because all of them are stored every few seconds. */
const MOST_QUOTAS = 500;

/** State of the lane at the moment of a reading. */
export interface LaneState {
  /** Lines that wait for a slot, by quota. */
  readonly waiting: ReadonlyMap<string, number>;
  readonly slotsOf: (quota: string) => number;
}

interface Sums {
  lines: number;
  callMs: number;
  backlogLines: number;
  backlogMs: number;
  /** Number of lines since the last reading. */
  newLines: number;
  newCallMs: number;
  /** Whether lines waited at the last reading. */
  hadWaiting: boolean;
}

/**
 * Measures how fast this process runs the lines of each quota: how long a line occupies a slot and, if lines were
 * waiting at two consecutive readings, how many lines finish per second.
 */
export class LaneMeter {
  private readonly quotas = new Map<string, Sums>();
  private readAtMs: number;

  constructor(private readonly nowMs: () => number = () => performance.now()) {
    this.readAtMs = nowMs();
  }

  /** Handles the end of a call. `isResult`: the line is finished. */
  called(quota: string, tookMs: number, isResult: boolean): void {
    const sums = this.sumsOf(quota);
    sums.newCallMs += tookMs;
    if (isResult) sums.newLines += 1;
  }

  /** Returns the measured speeds by quota. */
  read({ waiting, slotsOf }: LaneState): Record<string, LaneSpeed> {
    const elapsedMs = this.nowMs() - this.readAtMs;
    this.readAtMs += elapsedMs;
    const speeds: Record<string, LaneSpeed> = {};
    for (const [quota, sums] of this.quotas) {
      const isWaiting = (waiting.get(quota) ?? 0) > 0;
      add(sums, elapsedMs, isWaiting && sums.hadWaiting);
      sums.hadWaiting = isWaiting;
      speeds[quota] = {
        slots: slotsOf(quota),
        lines: sums.lines,
        call_ms: sums.callMs,
        backlog_lines: sums.backlogLines,
        backlog_ms: sums.backlogMs,
      };
    }
    return speeds;
  }

  private sumsOf(quota: string): Sums {
    const known = this.quotas.get(quota);
    if (known !== undefined) return known;
    const sums = { lines: 0, callMs: 0, backlogLines: 0, backlogMs: 0, newLines: 0, newCallMs: 0, hadWaiting: false };
    if (this.quotas.size >= MOST_QUOTAS) this.quotas.delete(this.quotas.keys().next().value!);
    this.quotas.set(quota, sums);
    return sums;
  }
}

function add(sums: Sums, elapsedMs: number, isBacklog: boolean): void {
  if (sums.newCallMs > 0 || isBacklog) {
    const kept = 0.5 ** (elapsedMs / HALF_LIFE_MS);
    sums.lines *= kept;
    sums.callMs *= kept;
    sums.backlogLines *= kept;
    sums.backlogMs *= kept;
  }
  sums.lines += sums.newLines;
  sums.callMs += sums.newCallMs;
  if (isBacklog) {
    sums.backlogLines += sums.newLines;
    sums.backlogMs += elapsedMs;
  }
  sums.newLines = 0;
  sums.newCallMs = 0;
}
