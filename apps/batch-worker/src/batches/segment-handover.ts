import type { HeldSegment } from './held-segment';
import type { HeldSegments } from './held-segments';
import type { LaneQuotas } from './lane-quotas';
import type { LineRetries } from './line-retries';
import type { SegmentReturns } from './segment-returns';

/** What this worker holds and cannot run: it goes back, so that another worker may run it. */
export class SegmentHandover {
  /** @param onRoom called when the pause of a quota is over whose segments made room for others */
  constructor(
    private readonly held: HeldSegments,
    private readonly quotas: LaneQuotas,
    private readonly retries: LineRetries,
    private readonly returns: SegmentReturns,
    private readonly onRoom: () => void,
  ) {}

  /** Down to half of what may be held, so that this is seldom done. */
  makeRoom(): void {
    const given = this.held.letGoToHalf(this.quotas.blocked(this.held.all));
    if (given.length === 0) return;
    for (const quota of new Set(given.map((segment) => segment.quota))) {
      this.quotas.whenPauseOver(quota, this.onRoom);
    }
    this.giveBack(given);
  }

  /**
   * Gives back all that waits behind an open breaker. The trouble may be this worker's alone: its network, or its way to
   * RabbitMQ. It claims again when the next probe is due; any other worker may at once.
   */
  giveBackUnreachable(): void {
    const unreachable = this.quotas.unreachable(this.held);
    if (unreachable.length === 0) return;
    // What ends now is written first: its segments go back afterwards.
    this.retries.endLate(unreachable);
    this.giveBack(unreachable.filter(({ isIdle }) => isIdle));
  }

  giveBack(given: readonly HeldSegment[]): void {
    if (given.length === 0) return;
    for (const segment of given) {
      this.retries.givenBack(segment);
      this.held.letGo(segment);
    }
    void this.returns.give(given.map(({ claim }) => claim));
  }
}
