import type { HeldSegment } from './held-segment';
import { readyBy, waitingByQuota } from './line-order';
import { QuotaPauses } from './quota-pauses';
import { QuotaWindows, type CallEnd, type WindowTicket } from './quota-windows';

/** Ready lines per slot below which more are fetched, which takes some turns. */
const READY_PER_SLOT = 8;
/** For so long of a quota whose lines were given back no more is fetched than will soon be called. */
const GIVEN_BACK_MS = 15_000;

/**
 * What may be called and fetched of each quota: what a provider grants the operator's key, or one that a caller
 * brought along. Whoever has had too much of its own keeps nobody else waiting, at the same provider or another.
 */
export class LaneQuotas {
  private readonly pauses: QuotaPauses;
  private readonly windows: QuotaWindows;
  private readonly givenBack: QuotaPauses;

  /** @param slots lines in flight in the whole lane, at most */
  constructor(
    private readonly slots: number,
    nowMs: () => number = Date.now,
  ) {
    this.pauses = new QuotaPauses(nowMs);
    this.windows = new QuotaWindows(slots, nowMs);
    this.givenBack = new QuotaPauses(nowMs);
  }

  mayCall(quota: string): boolean {
    return this.pauses.remainingMs(quota) === 0 && this.windows.admits(quota);
  }

  begin(quota: string): WindowTicket {
    return this.windows.begin(quota);
  }

  end(ticket: WindowTicket, end: CallEnd): void {
    this.windows.end(ticket, end);
  }

  pause(quota: string, durationMs: number): void {
    this.pauses.pause(quota, durationMs);
  }

  whenPauseOver(quota: string, then: () => void): void {
    this.pauses.whenOver(quota, then);
  }

  /** Lines at once that the quota gets. */
  limitOf(quota: string): number {
    return this.windows.limitOf(quota);
  }

  /** Whether few lines are held that wait for a slot only; of a quota for few at once none but those soon run. */
  isShort(held: Iterable<HeldSegment>): boolean {
    let runnable = 0;
    for (const [quota, ready] of readyBy('quota', held)) {
      if (this.pauses.remainingMs(quota) === 0) runnable += Math.min(ready, this.enoughFor(quota));
    }
    return runnable < this.slots * READY_PER_SLOT;
  }

  /** Quotas of which no lines are fetched: enough are held, or they could not be called. */
  keptOut(held: Iterable<HeldSegment>): string[] {
    const keptOut = new Set(this.pauses.active());
    for (const [quota, waiting] of waitingByQuota(held)) {
      const isTight = this.givenBack.remainingMs(quota) > 0;
      if (waiting >= (isTight ? this.limitOf(quota) : this.enoughFor(quota))) keptOut.add(quota);
    }
    return [...keptOut];
  }

  /**
   * What may be given back to make room for lines that can run: segments of quotas that may not be called now, those
   * fetched last before others, none with a line that is being called or whose result is being written. One that is
   * not paused keeps the lines that come next.
   */
  *blocked(held: ReadonlySet<HeldSegment>): Generator<HeldSegment> {
    const waiting = new Map(waitingByQuota(held));
    for (const segment of [...held].reverse()) {
      const { quota } = segment.claim;
      if (!segment.isIdle || segment.isStopped || segment.done || this.mayCall(quota)) continue;
      const left = waiting.get(quota)! - segment.waiting;
      if (left < this.limitOf(quota) && this.pauses.remainingMs(quota) === 0) continue;
      waiting.set(quota, left);
      this.givenBack.pause(quota, GIVEN_BACK_MS);
      yield segment;
    }
  }

  private enoughFor(quota: string): number {
    return this.windows.limitOf(quota) * READY_PER_SLOT;
  }
}
