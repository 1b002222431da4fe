import type { WorkerSpeed } from '@libs/persistence';

/** Time from acceptance to the first call, plus from the last result to the end: messages, claims, commits. */
const OVERHEAD_MS = 250;
/** Validation of one line. */
const VALIDATION_MS = 0.03;
/**
 * A lane had to have more lines than slots for at least this long. A shorter time shows how long calls take, but not
 * the throughput.
 */
const LEAST_BACKLOG_MS = 2_000;

export interface LaneDemand {
  /** Lines of the batch. */
  readonly lines: number;
  readonly workspaceId: string;
  /** Lines of the quota that are still waiting to run, by workspace. */
  readonly backlog: ReadonlyMap<string, number>;
}

/**
 * Returns how long our workers will need for a batch, in milliseconds, at their measured speed; null if no worker runs,
 * or none has called the quota within a day.
 */
export function expectedDuration(speeds: readonly WorkerSpeed[], demand: LaneDemand): number | null {
  const callMs = callDuration(speeds);
  if (callMs === null) return null;
  const linesPerMs = speeds.reduce((sum, worker) => sum + linesPerMsOf(worker, callMs), 0);
  if (linesPerMs === 0) return null;
  // The last line begins after the others and takes as long as any other.
  return OVERHEAD_MS + demand.lines * VALIDATION_MS + linesUntilDone(demand) / linesPerMs + callMs;
}

/** Returns how long a line occupies a slot, including retries. */
function callDuration(speeds: readonly WorkerSpeed[]): number | null {
  const lanes = speeds.map(({ lane }) => lane).filter((lane) => lane !== null);
  const lines = lanes.reduce((sum, lane) => sum + lane.lines, 0);
  return lines > 0 ? lanes.reduce((sum, lane) => sum + lane.call_ms, 0) / lines : null;
}

function linesPerMsOf({ isAlive, concurrency, lane }: WorkerSpeed, callMs: number): number {
  if (!isAlive) return 0;
  if (lane !== null && lane.backlog_ms >= LEAST_BACKLOG_MS) return lane.backlog_lines / lane.backlog_ms;
  return (lane?.slots ?? concurrency) / Math.max(callMs, 1);
}

/**
 * Returns the number of lines that run until the batch is done. Workspaces take turns, so each of the others runs at
 * most as many as this one; in the same workspace, earlier batches run first.
 */
function linesUntilDone({ lines, workspaceId, backlog }: LaneDemand): number {
  const own = lines + (backlog.get(workspaceId) ?? 0);
  let total = own;
  for (const [workspace, waiting] of backlog) {
    if (workspace !== workspaceId) total += Math.min(waiting, own);
  }
  return total;
}
