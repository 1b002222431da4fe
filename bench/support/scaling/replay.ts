import { plannedFor, workersWanted, type QuotaDemand } from '../../../apps/batch-worker/src/scaling/workers-wanted';
import { Autoscaler, type ScalerSettings } from './autoscaler';
import type { ReplayedProvider, Trace } from './traces';

const STEP_SECONDS = 5;
/** From the wish for a pod to its first line. */
const START_SECONDS = 45;
const CONCURRENCY = 64;
const GOAL_SECONDS = 3_600;
const PLAN = plannedFor(GOAL_SECONDS);
const WINDOW_SECONDS = 86_400;
/** A pod that comes so soon after one was removed, without a batch that arrived meanwhile, should not have been removed. */
const REVERSAL_SECONDS = 600;

export interface ReplayReport {
  readonly batches: number;
  readonly inWindow: number;
  readonly inGoal: number;
  readonly workerHours: number;
  /** The least that any scaler needs: the smallest number of pods all the time, and as much as the lines take. */
  readonly leastWorkerHours: number;
  readonly mostWorkers: number;
  /** At the end. */
  readonly lastWorkers: number;
  readonly reversals: number;
  /** From the first arrival to the first wish for more workers than there are. */
  readonly reactionSeconds: number | null;
}

interface OpenBatch {
  readonly arrivedAt: number;
  readonly quota: string;
  left: number;
}

interface Worker {
  readonly readyAt: number;
  /** Calls at once that it makes of each quota that it knows. */
  readonly windows: Map<string, Window>;
}

interface Window {
  calls: number;
  /** Before the last outage. */
  before: number;
}

/** Fixed number of workers, or the decision of the batch workers. */
export type Decision = 'forecast' | number;

/** Plays a trace: arrivals, workers that start and stop, and the lines that they run. */
export class Replay {
  private readonly open: OpenBatch[] = [];
  private readonly autoscaler: Autoscaler;
  private workers: Worker[];
  private arrived = 0;
  private workerSeconds = 0;
  private mostWorkers = 0;
  private reversals = 0;
  private lastRemovalAt = -Infinity;
  private arrivedAtRemoval = -1;
  private reactedAt: number | null = null;
  private readonly durations: number[] = [];

  constructor(
    private readonly trace: Trace,
    private readonly settings: ScalerSettings,
    private readonly decision: Decision = 'forecast',
  ) {
    this.autoscaler = new Autoscaler(settings);
    const first = decision === 'forecast' ? settings.minReplicaCount : decision;
    this.workers = Array.from({ length: first }, () => ({ readyAt: 0, windows: new Map() }));
  }

  run(): ReplayReport {
    for (let second = 0; second < this.trace.seconds; second += STEP_SECONDS) {
      this.arrive(second);
      this.work(second);
      if (this.decision === 'forecast' && second % this.settings.pollingInterval === 0) this.scale(second);
      this.workerSeconds += this.workers.length * STEP_SECONDS;
      this.mostWorkers = Math.max(this.mostWorkers, this.workers.length);
    }
    return this.report();
  }

  private report(): ReplayReport {
    const { arrivals, providers, seconds } = this.trace;
    const lineSeconds = arrivals.reduce((sum, { lines, quota }) => sum + lines * providers[quota]!.callSeconds, 0);
    const within = (limit: number): number => this.durations.filter((duration) => duration <= limit).length;
    return {
      batches: arrivals.length,
      inWindow: within(WINDOW_SECONDS) / arrivals.length,
      inGoal: within(GOAL_SECONDS) / arrivals.length,
      workerHours: this.workerSeconds / 3_600,
      leastWorkerHours: Math.max(this.settings.minReplicaCount * seconds, lineSeconds / CONCURRENCY) / 3_600,
      mostWorkers: this.mostWorkers,
      lastWorkers: this.workers.length,
      reversals: this.reversals,
      reactionSeconds: this.reactedAt === null ? null : this.reactedAt - arrivals[0]!.atSeconds,
    };
  }

  private arrive(second: number): void {
    for (; (this.trace.arrivals[this.arrived]?.atSeconds ?? Infinity) <= second; this.arrived += 1) {
      const { lines, quota } = this.trace.arrivals[this.arrived]!;
      this.open.push({ arrivedAt: second, quota, left: lines });
    }
  }

  private work(second: number): void {
    const ready = this.workers.filter(({ readyAt }) => readyAt <= second);
    const calls = new Map<string, number>();
    for (const [quota, provider] of Object.entries(this.trace.providers)) {
      const lines = this.linesOf(quota);
      if (lines === 0) continue;
      learn(ready, quota, provider, second);
      const windows = ready.reduce((sum, { windows: known }) => sum + (known.get(quota)?.calls ?? 0), 0);
      calls.set(quota, Math.min(lines, windows, provider.takesAt(second)));
    }
    const wanted = [...calls.values()].reduce((sum, value) => sum + value, 0);
    const share = Math.min(1, (ready.length * CONCURRENCY) / Math.max(1, wanted));
    for (const [quota, atOnce] of calls) {
      const { callSeconds } = this.trace.providers[quota]!;
      this.finish(quota, (atOnce * share * STEP_SECONDS) / callSeconds, second);
    }
  }

  private finish(quota: string, lines: number, second: number): void {
    let left = lines;
    for (const batch of this.open) {
      if (left <= 0) break;
      if (batch.quota !== quota) continue;
      const done = Math.min(left, batch.left);
      batch.left -= done;
      left -= done;
    }
    for (let index = this.open.length - 1; index >= 0; index -= 1) {
      const batch = this.open[index]!;
      if (batch.left > 1e-9) continue;
      this.durations.push(second + STEP_SECONDS - batch.arrivedAt);
      this.open.splice(index, 1);
    }
  }

  private scale(second: number): void {
    const ready = this.workers.filter(({ readyAt }) => readyAt <= second);
    const reports = ready.map(({ windows }) => ({
      isAlive: true,
      concurrency: CONCURRENCY,
      lanes: this.lanes(windows),
    }));
    const { workers: wanted } = workersWanted(this.demands(second), reports, CONCURRENCY);
    const next = this.autoscaler.decide(second, wanted, this.workers.length);
    if (this.arrived > 0 && this.reactedAt === null && wanted > this.workers.length) this.reactedAt = second;
    const isSoon = second - this.lastRemovalAt < REVERSAL_SECONDS && this.arrivedAtRemoval === this.arrived;
    if (next > this.workers.length && isSoon) this.reversals += 1;
    if (next < this.workers.length) this.remove(this.workers.length - next, second);
    while (this.workers.length < next) this.workers.push({ readyAt: second + START_SECONDS, windows: new Map() });
  }

  /** A worker that is removed ends the calls that it has under way. */
  private remove(count: number, second: number): void {
    this.workers = this.workers.slice(0, -count);
    const longest = Math.max(...Object.values(this.trace.providers).map(({ callSeconds }) => callSeconds));
    this.workerSeconds += count * longest;
    this.lastRemovalAt = second;
    this.arrivedAtRemoval = this.arrived;
  }

  private demands(second: number): QuotaDemand[] {
    return Object.keys(this.trace.providers).flatMap((quota) => {
      const batches = this.open.filter((batch) => batch.quota === quota);
      const rateOf = ({ left, arrivedAt }: OpenBatch): number =>
        left / Math.max(PLAN.leastSeconds, PLAN.goalSeconds - (second - arrivedAt));
      const linesPerSecond = batches.reduce((sum, batch) => sum + rateOf(batch), 0);
      return batches.length === 0 ? [] : { quota, lines: this.linesOf(quota), linesPerSecond };
    });
  }

  private lanes(windows: Worker['windows']) {
    const lanes = [...windows].map(([quota, { calls }]) => {
      const callMs = this.trace.providers[quota]!.callSeconds * 1_000;
      return [quota, { slots: Math.floor(calls), lines: 100, call_ms: 100 * callMs, backlog_lines: 0, backlog_ms: 0 }];
    });
    return Object.fromEntries(lanes) as Parameters<typeof workersWanted>[1][number]['lanes'];
  }

  private linesOf(quota: string): number {
    return this.open.reduce((sum, batch) => sum + (batch.quota === quota ? batch.left : 0), 0);
  }
}

/**
 * As lanes find out how many calls a provider takes: one while it is down; half of them in those that it refuses, first
 * those with the most; one more after each window of answers; after an outage twice as many, up to what it was before.
 */
function learn(
  ready: readonly Worker[],
  quota: string,
  { takesAt, callSeconds }: ReplayedProvider,
  second: number,
): void {
  const takes = takesAt(second);
  const windows = ready.map(({ windows: known }) => {
    const window = known.get(quota) ?? { calls: CONCURRENCY, before: CONCURRENCY };
    known.set(quota, window);
    return window;
  });
  const rounds = STEP_SECONDS / callSeconds;
  let sum = windows.reduce((total, { calls }) => total + calls, 0);
  const isTooMuch = sum > takes;
  for (const window of windows.toSorted((a, b) => b.calls - a.calls)) {
    if (takes === 0) window.calls = 1;
    else if (sum > takes) {
      sum -= window.calls / 2;
      window.before = window.calls = Math.max(1, window.calls / 2);
    } else if (isTooMuch) break;
    else if (window.calls < window.before) window.calls = Math.min(window.before, window.calls * 2 ** rounds);
    else window.before = window.calls = Math.min(CONCURRENCY, window.calls + rounds);
  }
}
