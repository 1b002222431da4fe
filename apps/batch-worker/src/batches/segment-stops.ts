import type { LeaveTerms } from '@libs/inference';
import type { BatchSegmentsRepository } from '@libs/persistence';
import type { HeldSegment } from './held-segment';
import type { HeldSegments } from './held-segments';

/** How long lines of a stopped batch may still run: less than its time to finish. */
const CALL_OFF_MS = 4_000;

/** A cancelled call ends at once and is charged like one whose caller has disconnected. */
const CHARGED: LeaveTerms = { begin: () => null };

/** Ends the segments of stopped batches: they begin no line, and are closed when no line is running. */
export class SegmentStops {
  constructor(
    private readonly segments: Pick<BatchSegmentsRepository, 'close'>,
    private readonly held: HeldSegments,
    private readonly onFailure: (what: string, error: unknown) => void,
  ) {}

  /**
   * Starts no more lines of a batch and cancels long calls. Returns true when this worker holds nothing of it.
   * @param isCharged true if cancelled calls are charged, as they are if the caller cancelled the batch
   */
  stopBatch(number: bigint, isCharged: boolean): boolean {
    const segments = this.held.ofBatch(number);
    const begun = segments.filter((segment) => !segment.isStopped);
    for (const segment of begun) {
      segment.stop();
      setTimeout(() => segment.calls.leave(isCharged ? CHARGED : null), CALL_OFF_MS).unref();
    }
    for (const segment of segments) this.closeIfIdle(segment);
    return segments.every((segment) => !this.held.has(segment));
  }

  closeIfIdle(segment: HeldSegment): void {
    if (!segment.isStopped || !segment.isIdle || !this.held.has(segment)) return;
    this.held.letGo(segment);
    this.segments
      .close([segment.claim])
      .catch((error: unknown) => this.onFailure('a stopped segment stays until its lease ends', error));
  }
}
