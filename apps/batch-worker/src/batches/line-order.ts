import type { HeldLine, HeldSegment } from './held-segment';

/** Lines in flight per workspace. */
export class WorkspaceShares {
  private readonly inFlight = new Map<string, number>();

  begin(workspaceId: string): void {
    this.inFlight.set(workspaceId, this.of(workspaceId) + 1);
  }

  end(workspaceId: string): void {
    const left = this.of(workspaceId) - 1;
    if (left > 0) this.inFlight.set(workspaceId, left);
    else this.inFlight.delete(workspaceId);
  }

  of(workspaceId: string): number {
    return this.inFlight.get(workspaceId) ?? 0;
  }
}

/**
 * Returns the line for the next free slot: of the workspace with the fewest lines in flight, so that a large batch does
 * not delay others; within a workspace, of the batch with the earliest deadline. Null if nothing may run now.
 */
export function nextLine(
  segments: Iterable<HeldSegment>,
  shares: WorkspaceShares,
  admits: (segment: HeldSegment) => boolean,
): HeldLine | null {
  let first: HeldSegment | null = null;
  for (const segment of segments) {
    if (!segment.hasNext || (first !== null && compare(segment, first, shares) >= 0)) continue;
    // Checked last, because it costs most and all segments of a batch have the same result.
    if (admits(segment)) first = segment;
  }
  return first?.next() ?? null;
}

function compare(one: HeldSegment, other: HeldSegment, shares: WorkspaceShares): number {
  const [oneWorkspace, otherWorkspace] = [one.claim.workspaceId, other.claim.workspaceId];
  if (oneWorkspace !== otherWorkspace) {
    const difference = shares.of(oneWorkspace) - shares.of(otherWorkspace);
    if (difference !== 0) return difference;
  }
  return byDeadline(one, other);
}

/** Compares segments by the deadline of their batch, then by batch and position. */
export function byDeadline({ claim: one }: HeldSegment, { claim: other }: HeldSegment): number {
  return (
    one.expiresAtMs - other.expiresAtMs || Number(one.batchNumber - other.batchNumber) || one.number - other.number
  );
}

/** Returns the number of lines that could run now, by quota. */
export function runnableByQuota(segments: Iterable<HeldSegment>): Map<string, number> {
  return sumByQuota(segments, ({ runnable }) => runnable);
}

/** Returns the number of ready lines by quota, including lines behind others with an earlier deadline. */
export function readyByQuota(segments: Iterable<HeldSegment>): Map<string, number> {
  return sumByQuota(segments, ({ ready }) => ready.length);
}

/** Returns the number of lines by quota, including those that wait for their next try. */
export function waitingByQuota(segments: Iterable<HeldSegment>): Map<string, number> {
  return sumByQuota(segments, ({ waiting }) => waiting);
}

function sumByQuota(segments: Iterable<HeldSegment>, linesOf: (segment: HeldSegment) => number): Map<string, number> {
  const sums = new Map<string, number>();
  for (const segment of segments) sums.set(segment.quota, (sums.get(segment.quota) ?? 0) + linesOf(segment));
  return sums;
}
