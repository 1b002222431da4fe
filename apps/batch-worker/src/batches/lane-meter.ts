import type { LaneSpeed } from '@libs/persistence';

/** Of what was measured, half is forgotten after so long a time in which the provider was called. */
const HALF_LIFE_MS = 60_000;

/** The lane at the moment of a reading. */
export interface LaneState {
  /** Lines that wait for a slot, by provider. */
  readonly waiting: ReadonlyMap<string, number>;
  readonly slotsOf: (provider: string) => number;
}

interface Sums {
  lines: number;
  callMs: number;
  backlogLines: number;
  backlogMs: number;
  /** Since the last reading. */
  newLines: number;
  newCallMs: number;
  /** Whether lines waited at the last reading. */
  hadWaiting: boolean;
}

/**
 * How fast this process runs the lines of each provider: how long a line holds a slot, and, where lines were waiting
 * at two readings one after the other, how many come to a result per second.
 */
export class LaneMeter {
  private readonly providers = new Map<string, Sums>();
  private readAtMs: number;

  constructor(private readonly nowMs: () => number = () => performance.now()) {
    this.readAtMs = nowMs();
  }

  /** A call has ended; `isResult`: and with it its line. */
  called(provider: string, tookMs: number, isResult: boolean): void {
    const sums = this.sumsOf(provider);
    sums.newCallMs += tookMs;
    if (isResult) sums.newLines += 1;
  }

  /** What is known by now, by provider. */
  read({ waiting, slotsOf }: LaneState): Record<string, LaneSpeed> {
    const elapsedMs = this.nowMs() - this.readAtMs;
    this.readAtMs += elapsedMs;
    const speeds: Record<string, LaneSpeed> = {};
    for (const [provider, sums] of this.providers) {
      const isWaiting = (waiting.get(provider) ?? 0) > 0;
      add(sums, elapsedMs, isWaiting && sums.hadWaiting);
      sums.hadWaiting = isWaiting;
      speeds[provider] = {
        slots: slotsOf(provider),
        lines: sums.lines,
        call_ms: sums.callMs,
        backlog_lines: sums.backlogLines,
        backlog_ms: sums.backlogMs,
      };
    }
    return speeds;
  }

  private sumsOf(provider: string): Sums {
    const known = this.providers.get(provider);
    if (known !== undefined) return known;
    const sums = { lines: 0, callMs: 0, backlogLines: 0, backlogMs: 0, newLines: 0, newCallMs: 0, hadWaiting: false };
    this.providers.set(provider, sums);
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
