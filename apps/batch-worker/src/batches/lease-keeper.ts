import { storeApart, type BatchSegmentsRepository, type SegmentLease, type TimedLease } from '@libs/persistence';
import type { HeldSegment } from './held-segment';
import type { HeldSegments } from './held-segments';
import { leaseName } from './lease-name';

export const LEASE_MS = 30_000;
const RENEW_MS = 10_000;

export interface LeaseKeeperOptions {
  /** Called after each round with the leases that are still held. */
  readonly onRound: () => void;
  readonly onFailure: (what: string, error: unknown) => void;
}

/** Extends the held leases every ten seconds, and releases those that another worker has taken. */
export class LeaseKeeper {
  private timer: NodeJS.Timeout | null = null;
  /** Number of consecutive rounds in which PostgreSQL did not answer. */
  private failures = 0;
  /** Leases that expired while this process had them, until that is stored. */
  private readonly outlived: SegmentLease[] = [];

  constructor(
    private readonly segments: BatchSegmentsRepository,
    private readonly held: HeldSegments,
    private readonly options: LeaseKeeperOptions,
  ) {}

  start(): void {
    this.timer = setInterval(() => void this.renew(), RENEW_MS);
  }

  stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
  }

  async renew(): Promise<void> {
    const segments = [...this.held];
    if (segments.length + this.outlived.length === 0) return;
    try {
      const { lost, error } = await this.extend(segments);
      await this.outlive(lost);
      if (error === null) this.failures = 0;
      else this.failed(error);
      this.options.onRound();
    } catch (error) {
      this.failed(error);
    }
  }

  private failed(error: unknown): void {
    this.failures += 1;
    this.options.onFailure('leases could not be renewed', error);
  }

  /**
   * Extends the leases; batch by batch if a segment is locked, as segments are while their batch ends. A lease behind a
   * lock is neither extended nor lost.
   * @returns the segments whose leases are lost, and the error for those that were not extended
   * @throws the error if no lease was extended
   */
  private async extend(segments: readonly HeldSegment[]): Promise<{ lost: HeldSegment[]; error: unknown }> {
    const { stored, stuck, refused, failed } = await storeApart(
      segments,
      async (some) => {
        const claims = some.map(({ claim }) => claim);
        return this.lostOf(some, await this.segments.renew(claims, LEASE_MS));
      },
      { keyOf: ({ claim }) => claim.batchNumber },
    );
    const error = failed?.error ?? [...stuck, ...refused][0]?.error ?? null;
    if (stored.length === 0 && error !== null) throw error;
    return { lost: stored.flatMap(({ result }) => result), error };
  }

  /** Updates the leases from PostgreSQL's answer, and releases those that are missing in it. */
  private lostOf(segments: readonly HeldSegment[], renewed: readonly TimedLease[]): HeldSegment[] {
    const kept = new Map(renewed.map((lease) => [leaseName(lease), lease]));
    const lost: HeldSegment[] = [];
    for (const segment of segments) {
      const lease = kept.get(leaseName(segment.claim));
      if (lease !== undefined) segment.windowEndsAtMs = lease.windowEndsAtMs;
      else if (!segment.done) lost.push(segment);
    }
    for (const segment of lost) this.lose(segment);
    return lost;
  }

  private lose(segment: HeldSegment): void {
    segment.lost = true;
    segment.calls.abort();
    this.held.letGo(segment);
  }

  /**
   * Stores why leases expired. If PostgreSQL was unavailable, their lines are not to blame. If this process stood
   * still, they are, because a line may have caused that.
   */
  private async outlive(lost: readonly HeldSegment[]): Promise<void> {
    if (this.failures > 0) this.outlived.push(...lost.map(({ claim }) => claim));
    // Removed before the query, because the next round may begin before PostgreSQL answers this one.
    const leases = this.outlived.splice(0);
    if (leases.length === 0) return;
    try {
      await this.segments.outlived(leases);
    } catch (error) {
      this.outlived.push(...leases);
      throw error;
    }
  }
}
