import { Injectable } from '@nestjs/common';
import { Database } from '../database';
import { selectLines, type BatchLine } from './select-lines';

/** A lease on a run of lines: whoever holds the highest fence may write results for them. */
export interface SegmentLease {
  readonly batchNumber: bigint;
  readonly number: number;
  readonly fence: bigint;
}

export interface ClaimedSegment extends SegmentLease {
  readonly createdOn: string;
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** Leases of this segment so far, this one included. */
  readonly attempts: number;
  readonly batchId: string;
  readonly endpoint: string;
  readonly model: string;
  readonly provider: string;
  readonly upstreamModel: string;
  /** Whose calls count together at the provider: its slug for the operator's key, one of its own for a caller's. */
  readonly quota: string;
  /** Whether that is the quota of a caller's own key. */
  readonly isOwnKey: boolean;
  readonly organizationId: string;
  readonly workspaceId: string;
  /** Of the key that submitted the batch. */
  readonly apiKeyHash: string;
  /** When the batch's window is over, in milliseconds since the epoch. */
  readonly expiresAtMs: number;
}

interface ClaimRow {
  batch_number: string;
  number: number;
  fence: string;
  created_on: string;
  first_seq: number;
  last_seq: number;
  attempts: number;
  id: string;
  endpoint: string;
  model: string;
  provider: string;
  upstream_model: string;
  quota: string;
  is_own_key: boolean;
  organization_id: string;
  workspace_id: string;
  api_key_hash: string;
  expires_at: Date;
}

/** A segment that another follows is full: of so many lines, or of bytes. */
const FULL_SEGMENT_LINES = 128;

/** What a provider grants one key, by name. Null is the operator's. */
const QUOTA = `(b.provider || coalesce(':' || b.credential_id::text, ''))`;

const AT_WORK = `b.status = 'in_progress' AND b.stop_by IS NULL AND b.finalized_at IS NULL`;

/** Found by as many steps through the index `batches_in_turn` as there are such workspaces, however many batches. */
const WORKSPACES_AT_WORK = `
          (SELECT b.workspace_id FROM batches b WHERE ${AT_WORK} ORDER BY b.workspace_id LIMIT 1)
          UNION ALL
          SELECT following.workspace_id FROM working w CROSS JOIN LATERAL (
            SELECT b.workspace_id FROM batches b WHERE b.workspace_id > w.workspace_id AND ${AT_WORK}
            ORDER BY b.workspace_id LIMIT 1
          ) following`;

/** How many lines come before each segment in the order in which they are taken. */
const linesBefore = (segments: 'ranked' | 'locked'): string => `
  SELECT *, sum(lines) OVER (
    ORDER BY turn, expires_at, batch_number, number ROWS UNBOUNDED PRECEDING) - lines AS lines_before
  FROM ${segments}`;

/** Ranked beyond what is taken, so that workers who claim at once find some each: in segments, and in lines. */
const LOOK_AHEAD = 4;
const LOOK_AHEAD_BOUNDS = 16;
const LEAST_RANKED = 64;
/** Of each workspace, however many of them have work: what is ranked of one may be in others' hands. */
const LEAST_OF_EACH = 16;

export interface ClaimBounds {
  /** As claimed segments name them. */
  readonly exceptQuotas?: readonly string[];
  /** Small segments are taken many at a time, full ones few. */
  readonly mostLines?: number;
}

/**
 * Leases on segments. A claim is one UPDATE by the database's clock: it moves `available_at` ahead, counts
 * the attempt and raises the fence, so two workers never own a segment at once and a stale owner's writes
 * (which carry the old fence) touch no row.
 */
@Injectable()
export class BatchSegmentsRepository {
  constructor(private readonly database: Database) {}

  /**
   * Leases segments, in turn from each workspace that has any, those of the batch that must end first before others:
   * up to `limit`, and none after the one with which `mostLines` are reached. A quota that is named gets no more for
   * now.
   */
  async claim(
    limit: number,
    leaseMs: number,
    { exceptQuotas = [], mostLines }: ClaimBounds = {},
  ): Promise<ClaimedSegment[]> {
    const rows = await this.database.rows<ClaimRow>({
      name: 'segments-claim',
      // Ranks more than it takes, so that workers who claim at once find different ones; and locks as many as the
      // first of the ranked fill the bound with. If those that it gets are larger, some are free again afterwards.
      sql: `
        WITH RECURSIVE working AS (${WORKSPACES_AT_WORK}
        ), ranked AS (
          SELECT o.*,
            row_number() OVER (PARTITION BY w.workspace_id ORDER BY o.expires_at, o.batch_number, o.number) AS turn
          FROM working w CROSS JOIN LATERAL (
            SELECT b.number AS batch_number, s.number, b.expires_at,
              CASE WHEN s.last_seq < b.total - 1 THEN ${FULL_SEGMENT_LINES} ELSE s.last_seq - s.first_seq + 1 END AS lines
            FROM batches b CROSS JOIN LATERAL (
              SELECT s.number, s.first_seq, s.last_seq FROM batch_segments s
              WHERE s.batch_number = b.number AND s.state = 'open' AND s.available_at <= now()
              ORDER BY s.number LIMIT $4
            ) s
            WHERE b.workspace_id = w.workspace_id AND ${AT_WORK}
              AND NOT EXISTS (SELECT 1 FROM unnest($3::text[]) AS kept_out(quota) WHERE kept_out.quota = ${QUOTA})
            ORDER BY b.expires_at, b.number, s.number
            LIMIT greatest(${LEAST_OF_EACH}, $4 / (SELECT count(*) FROM working))
          ) o
          ORDER BY turn, o.expires_at, o.batch_number LIMIT $4
        ), near AS (
          SELECT * FROM (${linesBefore('ranked')}) r
          WHERE $5::integer IS NULL OR r.lines_before < $5 * ${LOOK_AHEAD_BOUNDS}
        ), enough AS (
          SELECT count(*) AS segments FROM near WHERE $5::integer IS NULL OR lines_before < $5
        ), locked AS (
          SELECT r.batch_number, r.number, r.expires_at, r.lines, r.turn FROM near r
          JOIN batch_segments s ON s.batch_number = r.batch_number AND s.number = r.number
          WHERE s.state = 'open' AND s.available_at <= now()
          ORDER BY r.turn, r.expires_at, r.batch_number
          LIMIT least($1, (SELECT segments FROM enough)) FOR UPDATE OF s SKIP LOCKED
        ), picked AS (
          SELECT batch_number, number FROM (${linesBefore('locked')}) l
          WHERE $5::integer IS NULL OR l.lines_before < $5
        )
        UPDATE batch_segments s
        SET available_at = now() + $2 * interval '1 millisecond', fence = s.fence + 1, attempts = s.attempts + 1
        FROM picked p JOIN batches b ON b.number = p.batch_number
        WHERE s.batch_number = p.batch_number AND s.number = p.number
        RETURNING s.batch_number, s.number, s.fence, s.created_on::text AS created_on, s.first_seq, s.last_seq,
                  s.attempts, b.id, b.endpoint, b.model, b.provider, b.upstream_model, ${QUOTA} AS quota,
                  b.credential_id IS NOT NULL AS is_own_key, b.organization_id, b.workspace_id, b.api_key_hash,
                  b.expires_at`,
      values: [limit, leaseMs, exceptQuotas, Math.max(LEAST_RANKED, limit * LOOK_AHEAD), mostLines ?? null],
    });
    return rows.map(toClaimedSegment).sort(byPosition);
  }

  /**
   * The lines of each segment that have no result yet, in order. Segments that follow one another in their batch and
   * were never held before are read by one statement.
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

  /** Extends the leases; returns those that are still held. The others belong to somebody else now. */
  async renew(leases: readonly SegmentLease[], leaseMs: number): Promise<SegmentLease[]> {
    const rows = await this.database.rows<{ batch_number: string; number: number; fence: string }>({
      name: 'segments-renew',
      sql: `
        UPDATE batch_segments s SET available_at = now() + $4 * interval '1 millisecond'
        FROM unnest($1::bigint[], $2::integer[], $3::bigint[]) AS held(batch_number, number, fence)
        WHERE s.batch_number = held.batch_number AND s.number = held.number AND s.fence = held.fence
          AND s.state = 'open'
        RETURNING s.batch_number, s.number, s.fence`,
      values: [...leaseColumns(leases), leaseMs],
    });
    return rows.map((row) => ({
      batchNumber: BigInt(row.batch_number),
      number: row.number,
      fence: BigInt(row.fence),
    }));
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

  /** Gives segments back unfinished, as if they had not been tried: what a draining worker does. */
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

/** Cuts segments, in order of batch and position, where one does not go on where the last one ended. */
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

/** Nobody held it before, so it has no results. Its attempts do not tell: they are taken back when it is given back. */
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

function toClaimedSegment(row: ClaimRow): ClaimedSegment {
  return {
    batchNumber: BigInt(row.batch_number),
    number: row.number,
    fence: BigInt(row.fence),
    createdOn: row.created_on,
    firstSeq: row.first_seq,
    lastSeq: row.last_seq,
    attempts: row.attempts,
    batchId: row.id,
    endpoint: row.endpoint,
    model: row.model,
    provider: row.provider,
    upstreamModel: row.upstream_model,
    quota: row.quota,
    isOwnKey: row.is_own_key,
    organizationId: row.organization_id,
    workspaceId: row.workspace_id,
    apiKeyHash: row.api_key_hash,
    expiresAtMs: row.expires_at.getTime(),
  };
}

function byPosition(one: ClaimedSegment, other: ClaimedSegment): number {
  if (one.batchNumber !== other.batchNumber) return one.batchNumber < other.batchNumber ? -1 : 1;
  return one.number - other.number;
}
