import type { LineOutcome, SegmentLease } from '@libs/persistence';
import type { HeldSegment } from './held-segment';

/**
 * Most bytes of held lines; below, most segments per slot. New segments are claimed only below both. Above the bytes
 * there are only lines at providers that do not answer: at most one per slot.
 */
const MAX_HELD_BYTES = 64 * 1024 * 1024;
const MAX_SEGMENTS_PER_SLOT = 32;

/** The segments that this worker holds, limited in bytes and number. */
export class HeldSegments implements Iterable<HeldSegment> {
  private readonly segments = new Set<HeldSegment>();
  private bytes = 0;

  /** @param isSilent returns whether the provider of a quota accepts calls and does not answer */
  constructor(
    private readonly slots: number,
    private readonly isSilent: (quota: string) => boolean = () => false,
  ) {}

  [Symbol.iterator](): Iterator<HeldSegment> {
    return this.segments.values();
  }

  get all(): ReadonlySet<HeldSegment> {
    return this.segments;
  }

  add(segment: HeldSegment): void {
    this.segments.add(segment);
    this.bytes += segment.bytes;
    segment.fund.add(segment);
  }

  letGo(segment: HeldSegment): void {
    if (this.segments.delete(segment)) this.bytes -= segment.bytes;
    segment.fund.leave(segment);
  }

  /** Releases these segments from the first on, until it is half full. */
  letGoToHalf(segments: Iterable<HeldSegment>): HeldSegment[] {
    const given: HeldSegment[] = [];
    for (const segment of segments) {
      this.letGo(segment);
      given.push(segment);
      if (!this.isHalfFull) break;
    }
    return given;
  }

  has(segment: HeldSegment): boolean {
    return this.segments.has(segment);
  }

  /** Lines at a silent provider do not count; otherwise they would block all other lines until they end. */
  get isHeavy(): boolean {
    return this.bytes >= MAX_HELD_BYTES && this.bytes - this.silentBytes() >= MAX_HELD_BYTES;
  }

  get isFull(): boolean {
    return this.isHeavy || this.segments.size >= this.slots * MAX_SEGMENTS_PER_SLOT;
  }

  get isHalfFull(): boolean {
    return this.segments.size > (this.slots * MAX_SEGMENTS_PER_SLOT) / 2 || this.bytes > MAX_HELD_BYTES / 2;
  }

  private silentBytes(): number {
    let sum = 0;
    for (const { quota, bytes } of this.segments) if (this.isSilent(quota)) sum += bytes;
    return sum;
  }

  ofBatch(number: bigint): HeldSegment[] {
    return [...this.segments].filter(({ claim }) => claim.batchNumber === number);
  }

  /** Handles committed results, and releases segments that are done. */
  stored(outcomes: readonly LineOutcome[]): void {
    const byLease = new Map([...this.segments].map((segment) => [segment.claim as SegmentLease, segment]));
    for (const outcome of outcomes) byLease.get(outcome.lease)?.stored();
    for (const segment of this.segments) if (segment.done) this.letGo(segment);
  }

  /** Batches with segments in this worker. */
  batchNumbers(): ReadonlySet<bigint> {
    return new Set([...this.segments].map(({ claim }) => claim.batchNumber));
  }

  giveBackAll(): void {
    for (const segment of this.segments) segment.giveBack();
    this.segments.clear();
    this.bytes = 0;
  }
}
