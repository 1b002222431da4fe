import type { AppError } from '@libs/errors';
import { monotonicMs } from '@libs/inference';
import type { ClaimedSegment } from '@libs/persistence';

/** The parts of a segment that its batch's fund uses. */
export interface FundedSegment {
  /** Number of lines that are being called, or whose result is not stored yet. */
  readonly underWay: number;
  /** Lines not handed out yet. */
  readonly ready: readonly unknown[];
}

export interface BatchFundEvents<Segment extends FundedSegment> {
  /** Called when a line could begin but nothing is reserved for it; may be called many times before there is. */
  readonly onShort: (fund: BatchFund<Segment>) => void;
  /** Called when this worker no longer holds a segment of the batch. */
  readonly onEmpty: (fund: BatchFund<Segment>) => void;
}

/**
 * Limits how many lines of one batch this worker may begin. Until a result of the batch is stored: as many lines as
 * there are slots. After that: any number, until a result shows that the hold will not suffice; from then on only lines
 * with a reservation.
 */
export class BatchFund<Segment extends FundedSegment = FundedSegment> {
  readonly segments = new Set<Segment>();
  /**
   * True if a result was stored while this worker held the batch, so the cost of its lines was compared with its hold.
   */
  isProven = false;
  /** Number of reserved lines that may begin, if the batch needs reservations; otherwise null. */
  reserved: number | null = null;
  /** Until when reservations are refused, in milliseconds of the monotonic clock. */
  pausedUntilMs = 0;
  /** Length of the last pause after consecutive refusals; null if there was none. */
  lastPauseMs: number | null = null;
  /** Why no further line of the batch may run; null while some may. */
  exhausted: AppError | null = null;

  constructor(
    readonly batch: Pick<ClaimedSegment, 'batchId' | 'organizationId'> = { batchId: '', organizationId: '' },
    private readonly slots = Number.POSITIVE_INFINITY,
    private readonly events: Partial<BatchFundEvents<Segment>> = {},
  ) {}

  get isMetered(): boolean {
    return this.reserved !== null;
  }

  isPaused(nowMs = monotonicMs()): boolean {
    return this.pausedUntilMs > 0 && this.pausedUntilMs > nowMs;
  }

  /** Makes the next lines of the batch need reservations. */
  meter(): void {
    this.reserved ??= 0;
  }

  /** Whether one more line may begin now. */
  mayBegin(): boolean {
    if (this.reserved === null) return this.isProven || this.underWay < this.slots;
    if (this.reserved > 0) return true;
    this.events.onShort?.(this);
    return false;
  }

  begun(): void {
    if (this.reserved !== null) this.reserved -= 1;
  }

  /** Handles a line that was begun and cost nothing: it may be begun again. */
  failed(): void {
    if (this.reserved !== null) this.reserved += 1;
  }

  /** Number of lines that were begun and have no stored result. */
  get underWay(): number {
    let lines = 0;
    for (const segment of this.segments) lines += segment.underWay;
    return lines;
  }

  /** Returns how many lines to reserve next; 0 while half of the slots are taken, so that requests are few. */
  get wanted(): number {
    const { underWay } = this;
    if (underWay * 2 > this.slots) return 0;
    let ready = 0;
    for (const segment of this.segments) ready += segment.ready.length;
    return Math.min(ready, this.slots - underWay);
  }

  add(segment: Segment): void {
    this.segments.add(segment);
  }

  leave(segment: Segment): void {
    if (this.segments.delete(segment) && this.segments.size === 0) this.events.onEmpty?.(this);
  }
}
