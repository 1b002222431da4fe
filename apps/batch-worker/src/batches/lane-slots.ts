import type { HeldSegment } from './held-segment';
import type { LaneQuotas } from './lane-quotas';

/** Additional slots, as a share of the configured ones, while a provider that does not answer occupies some. */
const SPARE_SHARE = 1 / 4;
const QUESTIONS_PER_LOOK = 8;

/**
 * The running calls of a worker. A provider that accepts calls and never answers occupies its slots until they time
 * out, which takes minutes. During that time, lines of other quotas get the same number of additional slots, up to a
 * quarter of all.
 */
export class LaneSlots {
  private taken = 0;
  private looks = 0;
  private readonly mostSpare: number;

  constructor(
    private readonly slots: number,
    private readonly quotas: Pick<LaneQuotas, 'isSilent' | 'mayUseSpare' | 'silentCalls'>,
  ) {
    this.mostSpare = Math.max(1, Math.floor(slots * SPARE_SHARE));
  }

  get inFlight(): number {
    return this.taken;
  }

  /** Whether some line may be begun. */
  get hasFree(): boolean {
    return this.taken < this.slots || this.taken < this.slots + this.spare;
  }

  /** Returns whether a line of this segment may begin, if a slot is free. */
  admits({ quota }: HeldSegment): boolean {
    return this.taken < this.slots || (!this.quotas.isSilent(quota) && this.quotas.mayUseSpare(quota));
  }

  /**
   * Returns whether to check now how many lines are left, which costs more than beginning one. While no slot is free it
   * returns true every eighth time, because eight lines per slot are kept ready.
   */
  isLookDue(): boolean {
    this.looks = this.hasFree ? 0 : (this.looks + 1) % QUESTIONS_PER_LOOK;
    return this.looks === 0;
  }

  begin(): void {
    this.taken += 1;
  }

  end(): void {
    this.taken -= 1;
  }

  private get spare(): number {
    return Math.min(this.mostSpare, this.quotas.silentCalls());
  }
}
