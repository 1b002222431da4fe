/** A lease on a run of lines: only the holder of the highest fence may write their results. */
export interface SegmentLease {
  readonly batchNumber: bigint;
  readonly number: number;
  readonly fence: bigint;
  /** The organization that pays for its lines, if known. */
  readonly organizationId?: string;
}

/** A lease with the remaining time of its batch's window. */
export interface TimedLease extends SegmentLease {
  /**
   * When the window is over, by `performance.now()` of this process: PostgreSQL reports the remaining time, which is
   * counted down here. The host's time of day may be wrong.
   */
  readonly windowEndsAtMs: number;
}

export interface ClaimedSegment extends TimedLease {
  readonly createdOn: string;
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** Number of leases of this segment since a result of it was stored, including this one. */
  readonly attempts: number;
  readonly batchId: string;
  readonly endpoint: string;
  readonly model: string;
  readonly provider: string;
  readonly upstreamModel: string;
  /**
   * The account at the provider: the provider's slug for the operator's; with the id of the credential for a caller's
   * own.
   */
  readonly account: string;
  /** Whether that is the account of a caller's own key. */
  readonly isOwnKey: boolean;
  /** Whether only its owner's own keys may serve it; absent: no. */
  readonly isOwnKeysOnly?: boolean;
  readonly organizationId: string;
  readonly workspaceId: string;
  /** Hash of the key that submitted the batch. */
  readonly apiKeyHash: string;
  /**
   * When the batch's window is over, by PostgreSQL's clock. Must be compared only with those of other batches, never
   * with the time here.
   */
  readonly expiresAtMs: number;
  /** Whether its lines need a reservation before they begin; absent: no. */
  readonly isMetered?: boolean;
}

export interface LeaseRow {
  batch_number: string;
  number: number;
  fence: string;
  window_left_ms: number;
}

export interface ClaimRow extends LeaseRow {
  created_on: string;
  first_seq: number;
  last_seq: number;
  attempts: number;
  id: string;
  endpoint: string;
  model: string;
  provider: string;
  upstream_model: string;
  account: string;
  is_own_key: boolean;
  own_keys_only: boolean;
  organization_id: string;
  workspace_id: string;
  api_key_hash: string;
  expires_at: Date;
  is_metered: boolean;
}

/** Lines of a full segment; only the last segment of a batch may have fewer, unless a segment is full by bytes. */
const FULL_SEGMENT_LINES = 128;

/**
 * From this lease on the lines of a segment run one at a time, so that the one that kills workers is the first without
 * a result.
 */
export const ONE_AT_A_TIME_FROM = 3;
/** The lease in which that first line runs with nothing else in its worker. */
export const ALONE_FROM = 5;
/**
 * Marker stored right before that call. If a segment is leased with this marker, its first line was called alone, and
 * is given up.
 */
export const CALLED_ALONE = ALONE_FROM + 1;

/** SQL for the account at the provider. Null is the operator's key. */
export const ACCOUNT = `(b.provider || coalesce(':' || b.credential_id::text, ''))`;

const AT_WORK = `b.status = 'in_progress' AND b.stop_by IS NULL AND b.finalized_at IS NULL`;

/**
 * SQL for the workspaces with work. Takes as many steps through the index `batches_in_turn` as there are such
 * workspaces, however many batches they have.
 */
const WORKSPACES_AT_WORK = `
          (SELECT b.workspace_id FROM batches b WHERE ${AT_WORK} ORDER BY b.workspace_id LIMIT 1)
          UNION ALL
          SELECT following.workspace_id FROM working w CROSS JOIN LATERAL (
            SELECT b.workspace_id FROM batches b WHERE b.workspace_id > w.workspace_id AND ${AT_WORK}
            ORDER BY b.workspace_id LIMIT 1
          ) following`;

/** By PostgreSQL's clock, which also ends windows. */
const WINDOW_LEFT = `extract(epoch FROM b.expires_at - now())::float8 * 1000 AS window_left_ms`;

/** SQL for the number of lines before each segment in the order in which they are claimed. */
const linesBefore = (segments: 'ranked' | 'locked'): string => `
  SELECT *, sum(lines) OVER (
    ORDER BY turn, expires_at, batch_number, number ROWS UNBOUNDED PRECEDING) - lines AS lines_before
  FROM ${segments}`;

/** Takes leases on the segments of a list that meet a condition. */
const leaseSql = (list: string, condition: string, leaseMs: '$1' | '$2', attempts = 's.attempts + 1'): string => `
  UPDATE batch_segments s
  SET state = 'open', available_at = now() + ${leaseMs} * interval '1 millisecond', fence = s.fence + 1,
    attempts = ${attempts}
  FROM ${list} p JOIN batches b ON b.number = p.batch_number
  WHERE s.batch_number = p.batch_number AND s.number = p.number AND ${condition}
  RETURNING s.batch_number, s.number, s.fence, s.created_on::text AS created_on, s.first_seq, s.last_seq, s.attempts,
    b.id, b.endpoint, b.model, b.provider, b.upstream_model, ${ACCOUNT} AS account,
    b.credential_id IS NOT NULL AS is_own_key, b.own_keys_only, b.organization_id, b.workspace_id, b.api_key_hash,
    b.expires_at, b.is_metered, ${WINDOW_LEFT}`;

/**
 * Segments and lines to rank in addition to those that are taken, so that workers who claim at the same time all find
 * some.
 */
const LOOK_AHEAD = 4;
const LOOK_AHEAD_BOUNDS = 16;
const LEAST_RANKED = 64;
/**
 * Fewest segments to rank of each workspace, however many workspaces have work, because others may hold the first ones.
 */
const LEAST_OF_EACH = 16;

/** The unit against which a provider counts calls, as claimed segments name it. */
export type AccountModel = Pick<ClaimedSegment, 'account' | 'upstreamModel'>;

/** What a claim leaves out: lines of these models, API keys and batches, and these segments. */
export interface KeptOut {
  readonly models: readonly AccountModel[];
  readonly apiKeyHashes: readonly string[];
  /** Absent: none. */
  readonly batchNumbers?: readonly bigint[];
  /** Absent: none. */
  readonly segments?: readonly Pick<SegmentLease, 'batchNumber' | 'number'>[];
}

export interface ClaimBounds {
  readonly keptOut?: KeptOut;
  /** Small segments are taken many at a time, full ones few. */
  readonly mostLines?: number;
}

// Ranks more segments than it takes, so that workers who claim at the same time find different ones. Locks as many as
// would reach the limit if they were the first ranked ones. If the segments that it gets are larger, some are free
// again afterwards.
export const CLAIM_SQL = `
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
                AND NOT EXISTS (SELECT 1 FROM unnest($9::bigint[], $10::integer[]) AS kept_out(batch_number, number)
                  WHERE kept_out.batch_number = s.batch_number AND kept_out.number = s.number)
              ORDER BY s.number LIMIT $4
            ) s
            WHERE b.workspace_id = w.workspace_id AND ${AT_WORK}
              AND NOT EXISTS (SELECT 1 FROM unnest($3::text[], $6::text[]) AS kept_out(account, upstream_model)
                WHERE kept_out.account = ${ACCOUNT} AND kept_out.upstream_model = b.upstream_model)
              AND b.api_key_hash <> ALL ($7::text[]) AND b.number <> ALL ($8::bigint[])
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
        ), suspects AS (
          UPDATE batch_segments s SET state = 'suspect', fence = s.fence + 1 FROM picked p
          WHERE s.batch_number = p.batch_number AND s.number = p.number AND s.attempts >= ${ALONE_FROM - 1}
        )
        ${leaseSql('picked', `s.attempts < ${ALONE_FROM - 1}`, '$2')}`;

export const RENEW_SQL = `
  UPDATE batch_segments s SET available_at = now() + $4 * interval '1 millisecond'
  FROM unnest($1::bigint[], $2::integer[], $3::bigint[]) AS held(batch_number, number, fence)
    JOIN batches b ON b.number = held.batch_number
  WHERE s.batch_number = held.batch_number AND s.number = held.number AND s.fence = held.fence AND s.state = 'open'
  RETURNING s.batch_number, s.number, s.fence, ${WINDOW_LEFT}`;

/**
 * Leases of suspects are not counted: the answer of a lease may be lost, and only a call proves anything about a line.
 */
export const CLAIM_SUSPECT_SQL = `
  WITH picked AS (
    SELECT s.batch_number, s.number FROM batch_segments s JOIN batches b ON b.number = s.batch_number
    WHERE s.state = 'suspect' AND ${AT_WORK} ORDER BY s.batch_number, s.number LIMIT 1 FOR UPDATE OF s SKIP LOCKED
  ) ${leaseSql('picked', 'true', '$1', `greatest(s.attempts, ${ALONE_FROM})`)}`;

export const HAS_SUSPECTS_SQL = `
  SELECT 1 FROM batch_segments s JOIN batches b ON b.number = s.batch_number
  WHERE s.state = 'suspect' AND ${AT_WORK} LIMIT 1`;

export function rankedAtMost(limit: number): number {
  return Math.max(LEAST_RANKED, limit * LOOK_AHEAD);
}

/** @param askedAtMs by `performance.now()`, before the statement was sent, so that the window never ends too late */
export function toTimedLease(row: LeaseRow, askedAtMs: number): TimedLease {
  return {
    batchNumber: BigInt(row.batch_number),
    number: row.number,
    fence: BigInt(row.fence),
    windowEndsAtMs: askedAtMs + row.window_left_ms,
  };
}

export function toClaimedSegment(row: ClaimRow, askedAtMs: number): ClaimedSegment {
  return {
    ...toTimedLease(row, askedAtMs),
    createdOn: row.created_on,
    firstSeq: row.first_seq,
    lastSeq: row.last_seq,
    attempts: row.attempts,
    batchId: row.id,
    endpoint: row.endpoint,
    model: row.model,
    provider: row.provider,
    upstreamModel: row.upstream_model,
    account: row.account,
    isOwnKey: row.is_own_key,
    isOwnKeysOnly: row.own_keys_only,
    organizationId: row.organization_id,
    workspaceId: row.workspace_id,
    apiKeyHash: row.api_key_hash,
    expiresAtMs: row.expires_at.getTime(),
    isMetered: row.is_metered,
  };
}
