import type { HeldSegment } from './held-segment';
import type { HeldSegments } from './held-segments';
import type { LaneQuotas } from './lane-quotas';
import type { LineRetries } from './line-retries';
import type { SegmentReturns } from './segment-returns';

/** Gives back segments that this worker holds but cannot run, so that another worker may run them. */
export class SegmentHandover {
  /** @param onRoom called when the pause of a quota ends whose segments made room for others */
  constructor(
    private readonly held: HeldSegments,
    private readonly quotas: LaneQuotas,
    private readonly retries: LineRetries,
    private readonly returns: SegmentReturns,
    private readonly onRoom: () => void,
  ) {}

  /** Gives back until half of the allowed amount is held, so that this is rarely done. */
  makeRoom(): void {
    const given = this.held.letGoToHalf(this.quotas.blocked(this.held.all));
    if (given.length === 0) return;
    for (const quota of new Set(given.map((segment) => segment.quota))) {
      this.quotas.whenPauseOver(quota, this.onRoom);
    }
    this.giveBack(given);
  }

  /**
   * Gives back all segments behind an open breaker. Only this worker may be affected, by its network or its connection
   * to RabbitMQ. It claims again when the next probe is due; other workers may claim at once.
   */
  giveBackUnreachable(): void {
    const unreachable = this.quotas.unreachable(this.held);
    if (unreachable.length === 0) return;
    // Lines that end now are written first; their segments are given back afterwards.
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
