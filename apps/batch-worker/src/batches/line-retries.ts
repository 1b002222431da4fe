import type { AppError } from '@libs/errors';
import type { HeldLine, HeldSegment } from './held-segment';
import type { LaneQuotas } from './lane-quotas';
import { LineMemory } from './line-memory';
import { backoffMs, isGivenUp, isWindowNearlyOver, type LineFailure } from './line-patience';
import { QuotaNews } from './quota-news';

/** Delay after the probe is due, so that a different line than the last failed one becomes the probe. */
const AFTER_PROBE_MS = 100;

export interface LineRetryOptions {
  /** Called when a line is ready for its next try and its quota does not pause. */
  readonly onReady: () => void;
  /** Called for a line that ends with the error of its last try. */
  readonly onEnd: (line: HeldLine, error: AppError) => void;
}

/** Decides what happens to a line after a failed try: it ends with that failure, or waits for the next try. */
export class LineRetries {
  private readonly news = new QuotaNews();
  private readonly memory = new LineMemory();

  constructor(
    private readonly quotas: LaneQuotas,
    private readonly options: LineRetryOptions,
  ) {}

  answered(line: HeldLine, nowMs: number): void {
    this.news.answered(line, nowMs);
  }

  failed(line: HeldLine, failure: LineFailure, nowMs: number): void {
    const { segment } = line;
    const { error, pauseMs } = failure;
    line.lastError = error;
    if (isGivenUp(line, failure, this.news, nowMs)) return this.options.onEnd(line, error);
    line.comparedFromMs = nowMs;
    if (failure.quota === 'failed') this.news.failed(line);
    const probeMs = this.quotas.untilProbeMs(segment);
    const delayMs = Math.max(pauseMs ?? backoffMs(line.tries), probeMs > 0 ? probeMs + AFTER_PROBE_MS : 0);
    segment.rest(line, delayMs, () => this.whenReady(segment));
  }

  /** Handles a segment that is given back: its waiting lines end here, and their tries are remembered. */
  givenBack(segment: HeldSegment): void {
    this.memory.keep(segment.claim, segment.giveBack());
  }

  /** Called when a segment is claimed, possibly not for the first time. */
  takenOver(segment: HeldSegment): void {
    segment.resume(this.memory.take(segment.claim), () => this.whenReady(segment));
  }

  /** Ends lines that failed and cannot be tried again now, when their window is nearly over. */
  endLate(held: Iterable<HeldSegment>): void {
    for (const segment of held) {
      if (!isWindowNearlyOver(segment) || segment.isStopped || this.quotas.mayCall(segment)) continue;
      for (const line of segment.takeFailed()) this.options.onEnd(line, line.lastError!);
    }
  }

  private whenReady({ quota }: HeldSegment): void {
    this.quotas.whenPauseOver(quota, this.options.onReady);
  }
}
