import type { LineOutcome, SegmentLease } from '@libs/persistence';
import type { HeldSegment } from './held-segment';

/**
 * What is held, in bytes of lines and in segments per slot; a claim is made only below it. Beyond the bytes there are
 * only lines at providers that do not answer: at most one for each slot.
 */
const MAX_HELD_BYTES = 64 * 1024 * 1024;
const MAX_SEGMENTS_PER_SLOT = 32;

/** The segments in the hands of this worker. Bounded in bytes and in number. */
export class HeldSegments implements Iterable<HeldSegment> {
  private readonly segments = new Set<HeldSegment>();
  private bytes = 0;

  /** @param isSilent whether the provider of a quota accepts calls and does not answer */
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

  /** Lets go of the first of these, until it is half full. */
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

  /** Lines at a silent provider do not count, or they would keep those of all others from being fetched until they end. */
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

  /** Counts results that are committed, and lets go of what is done. */
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
