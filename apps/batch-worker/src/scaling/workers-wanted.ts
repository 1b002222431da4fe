import type { DemandGoal, LaneSpeed, WorkerReport } from '@libs/persistence';

/** Open lines of one quota that must run as single calls. */
export interface QuotaDemand {
  readonly quota: string;
  readonly lines: number;
  /** The rate at which every batch is finished by its target time. */
  readonly linesPerSecond: number;
}

export interface WantedBatchWorkers {
  readonly workers: number;
  /** Number of concurrent calls that the lines need, limited by what their providers accept. */
  readonly calls: number;
}

/** Share of the target time to plan with: workers take time to start, and the last lines need fewer of them. */
const PLANNED_SHARE = 0.8;
/**
 * Shortest time to plan with, so that the last lines of a batch, or a late batch, do not request a burst of workers.
 */
const LEAST_SECONDS = 300;
/** Assumed duration of a line, in seconds, if no worker has called its model within a day. */
const UNKNOWN_CALL_SECONDS = 10;

/**
 * Factor by which the planned calls exceed those that a provider accepts. Without it every worker would make as many
 * calls as it can, as if the provider had no limit, and after each scale-in the next count would want many workers
 * again.
 */
const LIMIT_HEADROOM = 1.15;

/** Returns the plan with which batches are done in `goalSeconds`. */
export function plannedFor(goalSeconds: number): DemandGoal {
  return { goalSeconds: goalSeconds * PLANNED_SHARE, leastSeconds: LEAST_SECONDS };
}

/**
 * Returns how many batch workers finish all batches in time: the concurrent calls that all quotas need, divided by
 * those of one worker. A quota counts no more calls than its provider accepts, because more workers would only share
 * these.
 * @param ownConcurrency concurrent calls of a worker if none has reported
 */
export function workersWanted(
  demands: readonly QuotaDemand[],
  reports: readonly WorkerReport[],
  ownConcurrency: number,
): WantedBatchWorkers {
  const alive = reports.filter(({ isAlive }) => isAlive);
  const usualSeconds = secondsOfCall(reports.flatMap(({ lanes }) => Object.values(lanes))) ?? UNKNOWN_CALL_SECONDS;
  let calls = 0;
  for (const { quota, lines, linesPerSecond } of demands) {
    const callSeconds = secondsOfCall(lanesOf(reports, quota)) ?? usualSeconds;
    calls += Math.min(lines, linesPerSecond * callSeconds, limitOf(alive, quota));
  }
  const concurrency = mean(alive.map((worker) => worker.concurrency)) ?? ownConcurrency;
  return { workers: Math.ceil(calls / concurrency), calls: Math.ceil(calls) };
}

function lanesOf(reports: readonly WorkerReport[], quota: string): LaneSpeed[] {
  return reports.flatMap(({ lanes }) => lanes[quota] ?? []);
}

/** Returns how long a line takes in seconds, retries included; null if unknown. */
function secondsOfCall(lanes: readonly LaneSpeed[]): number | null {
  const lines = sum(lanes.map((lane) => lane.lines));
  return lines > 0 ? sum(lanes.map((lane) => lane.call_ms)) / lines / 1_000 : null;
}

/**
 * Returns how many concurrent calls a provider accepts of a quota: the sum over the workers if most of them are
 * limited, otherwise no limit. A single limited worker may have a problem of its own, and a new worker has not met the
 * limit yet.
 */
function limitOf(alive: readonly WorkerReport[], quota: string): number {
  const callers = alive.flatMap(({ concurrency, lanes }) => {
    const lane = lanes[quota];
    return lane === undefined ? [] : { slots: lane.slots, isLimited: lane.slots < concurrency };
  });
  const limited = callers.filter(({ isLimited }) => isLimited).length;
  return limited * 2 > callers.length ? sum(callers.map(({ slots }) => slots)) * LIMIT_HEADROOM : Infinity;
}

function mean(values: readonly number[]): number | null {
  return values.length > 0 ? sum(values) / values.length : null;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
