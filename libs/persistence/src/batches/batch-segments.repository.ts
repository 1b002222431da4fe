import { Injectable } from '@nestjs/common';
import { Database } from '../database';
import {
  CLAIM_SQL,
  CLAIM_SUSPECT_SQL,
  HAS_SUSPECTS_SQL,
  CALLED_ALONE,
  ONE_AT_A_TIME_FROM,
  RENEW_SQL,
  rankedAtMost,
  toClaimedSegment,
  toTimedLease,
  type ClaimBounds,
  type ClaimedSegment,
  type ClaimRow,
  type KeptOut,
  type LeaseRow,
  type SegmentLease,
  type TimedLease,
} from './segment-claims';
import { selectLines, type BatchLine } from './select-lines';

export type { ClaimedSegment, KeptOut, SegmentLease, TimedLease } from './segment-claims';

const NOTHING_KEPT_OUT: KeptOut = { models: [], apiKeyHashes: [] };

/**
 * Leases on segments. A claim is one UPDATE by the database's clock: it moves `available_at` into the future, counts
 * the attempt and raises the fence. So two workers never own a segment at once, and writes of a former owner, which
 * carry the old fence, change no row.
 */
@Injectable()
export class BatchSegmentsRepository {
  constructor(private readonly database: Database) {}

  /**
   * Leases segments, in turn from each workspace that has any, and within a workspace of the batch with the earliest
   * deadline: up to `limit`, and none after the one that reaches `mostLines`. A segment whose workers died too often is
   * not leased but becomes a suspect.
   */
  async claim(
    limit: number,
    leaseMs: number,
    { keptOut = NOTHING_KEPT_OUT, mostLines }: ClaimBounds = {},
  ): Promise<ClaimedSegment[]> {
    const askedAtMs = performance.now();
    const rows = await this.database.rows<ClaimRow>({
      name: 'segments-claim',
      sql: CLAIM_SQL,
      values: [
        limit,
        leaseMs,
        keptOut.models.map(({ account }) => account),
        rankedAtMost(limit),
        mostLines ?? null,
        keptOut.models.map(({ upstreamModel }) => upstreamModel),
        keptOut.apiKeyHashes,
        keptOut.batchNumbers ?? [],
        keptOut.segments?.map(({ batchNumber }) => batchNumber) ?? [],
        keptOut.segments?.map(({ number }) => number) ?? [],
      ],
    });
    return rows.map((row) => toClaimedSegment(row, askedAtMs)).sort(byPosition);
  }

  /** Returns whether there are segments whose next line must run with nothing else in its worker. */
  async hasSuspects(): Promise<boolean> {
    const sql = HAS_SUSPECTS_SQL;
    return (await this.database.firstRow({ name: 'segments-has-suspects', sql })) !== null;
  }

  /** Leases one of the suspects; returns null if there is none. */
  async claimSuspect(leaseMs: number): Promise<ClaimedSegment | null> {
    const askedAtMs = performance.now();
    const row = await this.database.firstRow<ClaimRow>({
      name: 'segments-claim-suspect',
      sql: CLAIM_SUSPECT_SQL,
      values: [leaseMs],
    });
    return row === null ? null : toClaimedSegment(row, askedAtMs);
  }

  /**
   * Returns the lines of each segment that have no result yet, in order. Consecutive segments of a batch that were
   * never held before are read by one statement.
   */
  async unfinishedLines(segments: readonly ClaimedSegment[]): Promise<BatchLine[][]> {
    const found: BatchLine[][] = [];
    for (const run of runsOf(segments)) {
      const lines = await this.unfinishedLinesOf(run);
      let next = 0;
      for (const { lastSeq } of run) {
        const first = next;
        while (next < lines.length && lines[next]!.seq <= lastSeq) next += 1;
        found.push(lines.slice(first, next));
      }
    }
    return found;
  }

  private async unfinishedLinesOf(run: readonly ClaimedSegment[]): Promise<BatchLine[]> {
    const { createdOn, batchNumber, firstSeq } = run[0]!;
    const { lastSeq } = run.at(-1)!;
    const taken = `NOT EXISTS (SELECT 1 FROM batch_results r WHERE r.created_on = l.created_on
                               AND r.batch_number = l.batch_number AND r.seq = l.seq)`;
    return selectLines(
      this.database,
      `l.created_on = '${createdOn}' AND l.batch_number = ${batchNumber} AND l.seq BETWEEN ${firstSeq} AND ${lastSeq}
       ${isFirstLease(run[0]!) ? '' : `AND ${taken}`} ORDER BY l.seq`,
    );
  }

  /** Extends the leases and returns those that are still held; the others were taken by other workers. */
  async renew(leases: readonly SegmentLease[], leaseMs: number): Promise<TimedLease[]> {
    const askedAtMs = performance.now();
    const rows = await this.database.rows<LeaseRow>({
      name: 'segments-renew',
      sql: RENEW_SQL,
      values: [...leaseColumns(leases), leaseMs],
    });
    return rows.map((row) => toTimedLease(row, askedAtMs));
  }

  /** Records that no line of these leases killed its worker: the leases ended because PostgreSQL was unavailable. */
  async outlived(leases: readonly SegmentLease[]): Promise<void> {
    await this.database.execute({
      name: 'segments-outlived',
      sql: `
        UPDATE batch_segments s SET attempts = greatest(0, s.attempts - 1)
        FROM unnest($1::bigint[], $2::integer[], $3::bigint[]) AS held(batch_number, number, fence)
        WHERE s.batch_number = held.batch_number AND s.number = held.number AND s.fence > held.fence
          AND s.state IN ('open', 'suspect')`,
      values: leaseColumns(leases),
    });
  }

  /** Records that the first open line of a suspect is called next, alone. Returns false if the lease is lost. */
  async beginAlone(lease: SegmentLease): Promise<boolean> {
    const row = await this.database.firstRow({
      name: 'segments-begin-alone',
      sql: `UPDATE batch_segments SET attempts = ${CALLED_ALONE}
            WHERE batch_number = $1 AND number = $2 AND fence = $3 AND state = 'open' RETURNING number`,
      values: [lease.batchNumber, lease.number, lease.fence],
    });
    return row !== null;
  }

  /**
   * Records that the first open line of a suspect ran without killing its worker; its other lines run one at a time.
   */
  async absolve(lease: SegmentLease): Promise<void> {
    await this.database.execute({
      name: 'segments-absolve',
      sql: `UPDATE batch_segments SET attempts = ${ONE_AT_A_TIME_FROM - 1}
            WHERE batch_number = $1 AND number = $2 AND fence = $3 AND state = 'open'`,
      values: [lease.batchNumber, lease.number, lease.fence],
    });
  }

  /** Ends segments of a batch that is stopping, with the results they have. */
  async close(leases: readonly SegmentLease[]): Promise<void> {
    await this.database.execute({
      name: 'segments-close',
      sql: `
        UPDATE batch_segments s SET state = 'done', fence = s.fence + 1
        FROM unnest($1::bigint[], $2::integer[], $3::bigint[]) AS held(batch_number, number, fence)
        WHERE s.batch_number = held.batch_number AND s.number = held.number AND s.fence = held.fence
          AND s.state = 'open'`,
      values: leaseColumns(leases),
    });
  }

  /** Gives segments back unfinished, without counting an attempt; used by a worker that shuts down. */
  async release(leases: readonly SegmentLease[]): Promise<void> {
    await this.database.execute({
      name: 'segments-release',
      sql: `
        UPDATE batch_segments s SET available_at = now(), attempts = greatest(0, s.attempts - 1), fence = s.fence + 1
        FROM unnest($1::bigint[], $2::integer[], $3::bigint[]) AS held(batch_number, number, fence)
        WHERE s.batch_number = held.batch_number AND s.number = held.number AND s.fence = held.fence
          AND s.state = 'open'`,
      values: leaseColumns(leases),
    });
  }
}

/** Splits segments, in order of batch and position, into runs of consecutive ones. */
function runsOf(segments: readonly ClaimedSegment[]): ClaimedSegment[][] {
  const runs: ClaimedSegment[][] = [];
  for (const segment of segments) {
    const last = runs.at(-1)?.at(-1);
    if (last !== undefined && follows(segment, last)) runs.at(-1)!.push(segment);
    else runs.push([segment]);
  }
  return runs;
}

function follows(segment: ClaimedSegment, last: ClaimedSegment): boolean {
  const isAdjacent = segment.batchNumber === last.batchNumber && segment.firstSeq === last.lastSeq + 1;
  return isAdjacent && isFirstLease(segment) && isFirstLease(last);
}

/** Returns whether the segment was never leased before, so it has no results. `attempts` is reset by a return. */
function isFirstLease({ fence }: SegmentLease): boolean {
  return fence === 1n;
}

function leaseColumns(leases: readonly SegmentLease[]): [bigint[], number[], bigint[]] {
  return [
    leases.map((lease) => lease.batchNumber),
    leases.map((lease) => lease.number),
    leases.map((lease) => lease.fence),
  ];
}

function byPosition(one: ClaimedSegment, other: ClaimedSegment): number {
  if (one.batchNumber !== other.batchNumber) return one.batchNumber < other.batchNumber ? -1 : 1;
  return one.number - other.number;
}
