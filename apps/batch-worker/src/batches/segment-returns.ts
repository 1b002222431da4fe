import type { BatchSegmentsRepository, ClaimedSegment } from '@libs/persistence';

/** Most leases to keep until PostgreSQL can release them; the oldest have expired by then. */
const MOST_OWED = 2_000;

/**
 * Gives segments back. A lease that expires instead counts as the death of a worker, so segments that could not be
 * given back because PostgreSQL was away are given back with the next ones.
 */
export class SegmentReturns {
  private owed: readonly ClaimedSegment[] = [];

  constructor(
    private readonly segments: Pick<BatchSegmentsRepository, 'release'>,
    private readonly onFailure: (error: unknown) => void,
  ) {}

  /** Gives the segments back unless the work succeeds. @throws any error of the work */
  async unless<T>(claims: readonly ClaimedSegment[], work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      await this.give(claims);
      throw error;
    }
  }

  /** Never throws. */
  async give(claims: readonly ClaimedSegment[] = []): Promise<void> {
    const given = [...this.owed, ...claims];
    this.owed = [];
    if (given.length === 0) return;
    try {
      await this.segments.release(given);
    } catch (error) {
      this.owed = [...given, ...this.owed].slice(-MOST_OWED);
      this.onFailure(error);
    }
  }
}
