import type { AppError } from '@libs/errors';
import { monotonicMs } from '@libs/inference';
import type { ClaimedSegment } from '@libs/persistence';

/** A segment of the batch, as far as its fund looks at it. */
export interface FundedSegment {
  /** Lines that are being called, or whose result is not stored yet. */
  readonly underWay: number;
  /** Lines not handed out yet. */
  readonly ready: readonly unknown[];
}

export interface BatchFundEvents<Segment extends FundedSegment> {
  /** Called when a line could begin that nothing is reserved for, perhaps many times until there is. */
  readonly onShort: (fund: BatchFund<Segment>) => void;
  /** Called when this worker holds no segment of the batch any more. */
  readonly onEmpty: (fund: BatchFund<Segment>) => void;
}

/**
 * What this worker may begin of one batch. Until a result of the batch is stored, as many lines as there are slots.
 * Then any number, until a result says that the hold will not last: from then on the lines that were reserved.
 */
export class BatchFund<Segment extends FundedSegment = FundedSegment> {
  readonly segments = new Set<Segment>();
  /** A result was stored while this worker held the batch: what its lines cost has been set against its hold. */
  isProven = false;
  /** Lines that may begin of a batch whose lines need reservations; null for all others. */
  reserved: number | null = null;
  /** Reservations are refused until then, in milliseconds of the monotonic clock. */
  pausedUntilMs = 0;
  /** How long the last of several refusals in a row paused it; null after none. */
  lastPauseMs: number | null = null;
  /** Why no line of the batch runs any more; null while some may. */
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

  /** Its next lines need reservations. */
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

  /** A line was begun and cost nothing: it may be begun again. */
  failed(): void {
    if (this.reserved !== null) this.reserved += 1;
  }

  /** Lines that were begun and have no stored result. */
  get underWay(): number {
    let lines = 0;
    for (const segment of this.segments) lines += segment.underWay;
    return lines;
  }

  /** How many lines to reserve next; 0 while half of the slots are taken, so that requests are few. */
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
