import { monotonicMs } from '@libs/inference';
import type { SegmentLease } from '@libs/persistence';
import type { CircuitBreakers } from './circuit-breakers';
import type { HeldSegment } from './held-segment';
import { leaseName } from './lease-name';
import { byDeadline } from './line-order';

/** For this time a failed segment comes after others. */
const REMEMBERED_MS = 10 * 60_000;
const MOST_REMEMBERED = 2_000;

interface FailedSegment {
  readonly quota: string;
  readonly lease: SegmentLease;
  readonly atMs: number;
}

/**
 * Chooses the next probe of a quota whose breaker is open: a line of the workspace, and then of the segment, that
 * failed longest ago. A healthy provider may fail for some lines every time; if these were always the probe, no other
 * line would run.
 */
export class ProbeOrder {
  private readonly segments = new Map<string, FailedSegment>();
  /** Time of the last failure, by quota and workspace. */
  private readonly workspaces = new Map<string, number>();

  /** Segments of the next probes; null while no breaker is open. */
  private next: ReadonlySet<HeldSegment> | null = null;

  /** @param nowMs monotonic clock in milliseconds */
  constructor(
    private readonly breakers: Pick<CircuitBreakers, 'hasOpen' | 'isOpen' | 'admits'>,
    private readonly nowMs: () => number = monotonicMs,
  ) {}

  failed({ quota, claim }: HeldSegment): void {
    if (!this.breakers.isOpen(quota)) return;
    const atMs = this.nowMs();
    remember(this.segments, leaseName(claim), { quota, lease: claim, atMs });
    remember(this.workspaces, workspaceIn(quota, claim), atMs);
  }

  answered({ quota, claim }: HeldSegment): void {
    if (this.segments.size === 0 && this.workspaces.size === 0) return;
    this.segments.delete(leaseName(claim));
    this.workspaces.delete(workspaceIn(quota, claim));
  }

  /** Chooses the next probe of each quota among held segments for which `mayRun` is true. */
  choose(held: Iterable<HeldSegment>, mayRun: (segment: HeldSegment) => boolean): void {
    this.next = null;
    if (!this.breakers.hasOpen) return;
    const chosen = new Map<string, HeldSegment>();
    for (const segment of held) {
      const { quota } = segment;
      if (!this.breakers.isOpen(quota) || !mayRun(segment)) continue;
      const first = chosen.get(quota);
      if (first === undefined || this.isBefore(segment, first)) chosen.set(quota, segment);
    }
    this.next = new Set(chosen.values());
  }

  /** Returns false if the probe of this quota is a line of another segment. */
  isNext(segment: HeldSegment): boolean {
    return this.next === null || !this.breakers.isOpen(segment.quota) || this.next.has(segment);
  }

  /** Returns failed segments, which a claim leaves out. */
  postponed(): SegmentLease[] {
    if (!this.breakers.hasOpen || this.segments.size === 0) return [];
    const endMs = this.nowMs() - REMEMBERED_MS;
    for (const [name, { atMs }] of this.segments) if (atMs < endMs) this.segments.delete(name);
    return [...this.segments.values()].filter(({ quota }) => this.breakers.isOpen(quota)).map(({ lease }) => lease);
  }

  /**
   * Makes failed segments claimable again if their quota's probe is due and no other segment is held. Returns true if
   * there were any.
   */
  forgetPostponed(held: Iterable<HeldSegment>): boolean {
    if (!this.breakers.hasOpen || this.segments.size === 0) return false;
    const found = new Set([...held].map(({ quota }) => quota));
    let isForgotten = false;
    for (const [name, { quota }] of this.segments) {
      if (!this.breakers.admits(quota) || !this.breakers.isOpen(quota) || found.has(quota)) continue;
      isForgotten = this.segments.delete(name);
    }
    return isForgotten;
  }

  private isBefore(one: HeldSegment, other: HeldSegment): boolean {
    const [a, b] = [this.failuresOf(one), this.failuresOf(other)];
    return (a.workspaceMs - b.workspaceMs || a.segmentMs - b.segmentMs || byDeadline(one, other)) < 0;
  }

  private failuresOf({ quota, claim }: HeldSegment): { workspaceMs: number; segmentMs: number } {
    const workspaceMs = this.workspaces.get(workspaceIn(quota, claim)) ?? -1;
    return { workspaceMs, segmentMs: this.segments.get(leaseName(claim))?.atMs ?? -1 };
  }
}

function workspaceIn(quota: string, { workspaceId }: HeldSegment['claim']): string {
  return `${quota} ${workspaceId}`;
}

/** Adds the entry as the newest, and removes the oldest if there are too many. */
function remember<Value>(map: Map<string, Value>, name: string, value: Value): void {
  map.delete(name);
  map.set(name, value);
  if (map.size > MOST_REMEMBERED) map.delete(map.keys().next().value!);
}
