import { Injectable } from '@nestjs/common';
import { Database, type Session } from '../database';
import { booksSql, movedSql, REPLAYED_SQL, SAVE_TOTALS_SQL, SUM_CALLS_SQL } from './books-sql';
import { CANDIDATES_SQL, CHARGES_SQL, LOOKUP_SQL, MOVED, OWNERS_SQL } from './charges-sql';
import { ALL_JOBS_SQL, RECENT_JOBS_SQL } from './jobs-sql';
import { PARTS_SQL } from './parts-sql';
import { TRANSFERS_SQL } from './transfers-sql';
import {
  driftOf,
  merged,
  NOTHING_FOUND,
  pageOf,
  reportSql,
  type FindingPage,
  type FindingRow,
  type LedgerFinding,
} from './ledger-finding';

export interface LedgerAuditReport extends FindingPage {
  readonly isFull: boolean;
  /** Transfers that this audit read. */
  readonly transfers: number;
}

/** State that the last audit stored. */
export interface LastLedgerAudit {
  readonly auditedAt: Date;
  readonly fullAt: Date;
  readonly driftPicousd: bigint;
}

interface Start {
  readonly xmin: string;
  readonly watermark: string | null;
  /** Ended batches and videos are read again from this time on: no transaction that ends one takes an hour. */
  readonly since: Date | null;
  readonly kept: readonly LedgerFinding[] | null;
}

const LONGEST_SECONDS = 7_200;

/**
 * Compares every charge with its source, in both directions, and the rows that show balances with the transfers.
 *
 * An audit reads one snapshot, so it may run during normal operation. An incremental one reads the rows that were
 * written since the last: each row has the id of its transaction, and the watermark is the lowest id that was still
 * running then, so a transaction that commits late is not missed. The watermark and the sums below it commit together
 * at the end. An audit that dies leaves both unchanged; of two concurrent audits, one is repeated.
 */
@Injectable()
export class LedgerAuditRepository {
  constructor(private readonly database: Database) {}

  /**
   * @param options.isFull reads all rows; also done if there was no audit yet, and after a restore from a dump
   * @returns the findings, at most 1,000, and how many there are. Findings in charges, batches and videos are reported
   * until a full audit no longer finds them.
   */
  async audit({ isFull }: { readonly isFull: boolean }): Promise<LedgerAuditReport> {
    return this.database.transaction(async (session) => {
      const start = await begin(session);
      const from = isFull ? null : watermarkOf(start);
      const { transfers, books } = await compareBooks(session, from, start.xmin);
      const rows = await (from === null ? compareAll(session) : compareNew(session, from, start));
      const findings = merged([books, rows]);
      await save(session, {
        xmin: start.xmin,
        isFull: from === null,
        kept: rows.findings,
        drift: findings.driftPicousd,
      });
      return { ...findings, isFull: from === null, transfers };
    });
  }

  /** Returns differences between all transfers and the rows that show balances. Changes nothing. */
  async balances(): Promise<readonly LedgerFinding[]> {
    return this.database.transaction(async (session) => {
      const { xmin } = await begin(session);
      const { books } = await compareBooks(session, null, xmin);
      return merged([books, await replay(session)]).findings;
    });
  }

  /** Returns null before the first audit. */
  async last(): Promise<LastLedgerAudit | null> {
    const row = await this.database.firstRow<{ auditedAt: Date; fullAt: Date; drift: string }>({
      name: 'ledger-audit-last',
      sql: `SELECT audited_at AS "auditedAt", full_at AS "fullAt", drift_picousd::text AS drift FROM ledger_audits`,
    });
    return row && { auditedAt: row.auditedAt, fullAt: row.fullAt, driftPicousd: BigInt(row.drift) };
  }
}

async function begin(session: Session): Promise<Start> {
  await session.client.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
  await session.mayTake(LONGEST_SECONDS);
  await session.client.query(`SET LOCAL work_mem = '64MB'`);
  const row = await session.firstRow<Start>({
    sql: `SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS xmin, a.watermark, a.kept,
                 a.audited_at - interval '1 hour' AS since
          FROM (SELECT) one LEFT JOIN ledger_audits a ON true`,
  });
  return row!;
}

/** A watermark in the future comes from another server, from whose dump this database was restored. */
function watermarkOf({ watermark, xmin }: Start): string | null {
  return watermark === null || BigInt(watermark) > BigInt(xmin) ? null : watermark;
}

async function compareBooks(
  session: Session,
  from: string | null,
  xmin: string,
): Promise<{ transfers: number; books: FindingPage }> {
  await byIndex(session, from !== null, () => session.client.query(movedSql(from, xmin)));
  const row = await session.firstRow<{ transfers: number }>({
    sql: `SELECT coalesce(sum(transfers), 0)::float8 AS transfers FROM ${MOVED}`,
  });
  return { transfers: row?.transfers ?? 0, books: await report(session, booksSql(from === null)) };
}

async function replay(session: Session): Promise<FindingPage> {
  await session.client.query(SUM_CALLS_SQL);
  return report(session, REPLAYED_SQL);
}

async function compareAll(session: Session): Promise<FindingPage> {
  const replayed = await replay(session);
  const owners = await session.rows<{ name: string }>({ sql: OWNERS_SQL });
  const charges =
    owners.length === 0 ? NOTHING_FOUND : await report(session, CHARGES_SQL, [owners.map(({ name }) => name)]);
  const parts = await report(session, PARTS_SQL, [null]);
  const transfers = await report(session, TRANSFERS_SQL, [null]);
  return merged([replayed, charges, parts, transfers, await report(session, ALL_JOBS_SQL)]);
}

async function compareNew(session: Session, from: string, { since, kept }: Start): Promise<FindingPage> {
  const candidates = await byIndex(session, true, () =>
    session.rows<{ id: string; count: number }>({ sql: CANDIDATES_SQL, values: [from] }),
  );
  const charges = await report(session, LOOKUP_SQL, [candidates.map(({ id }) => id)]);
  const transfers = await byIndex(session, true, () => report(session, TRANSFERS_SQL, [from]));
  const parts = await byIndex(session, true, () => report(session, PARTS_SQL, [from]));
  const unread = (candidates[0]?.count ?? 0) - candidates.length;
  const earlier = kept ?? [];
  return merged([
    { findings: earlier, count: earlier.length, driftPicousd: driftOf(earlier) },
    { ...charges, count: charges.count + unread },
    parts,
    transfers,
    await report(session, RECENT_JOBS_SQL, [since]),
  ]);
}

/** The few new rows of a large table must be found by its index, whatever the planner estimates. */
async function byIndex<T>(session: Session, isNew: boolean, work: () => Promise<T>): Promise<T> {
  if (!isNew) return work();
  await session.client.query('SET LOCAL enable_seqscan = off');
  const done = await work();
  await session.client.query('SET LOCAL enable_seqscan = on');
  return done;
}

async function report(
  session: Session,
  differences: string,
  values: readonly (Date | string | null | readonly (string | number)[])[] = [],
): Promise<FindingPage> {
  return pageOf(await session.rows<FindingRow>({ sql: reportSql(differences), values }));
}

async function save(
  session: Session,
  { xmin, isFull, kept, drift }: { xmin: string; isFull: boolean; kept: readonly LedgerFinding[]; drift: bigint },
): Promise<void> {
  if (isFull) await session.execute({ sql: 'DELETE FROM ledger_audit_totals' });
  await session.execute({ sql: SAVE_TOTALS_SQL });
  await session.execute({
    sql: `
      INSERT INTO ledger_audits AS a (id, watermark, audited_at, full_at, drift_picousd, kept)
      VALUES (1, $1::bigint, now(), now(), $2::numeric, $3::jsonb)
      ON CONFLICT (id) DO UPDATE SET watermark = excluded.watermark, audited_at = excluded.audited_at,
        full_at = CASE WHEN $4 THEN excluded.full_at ELSE a.full_at END, drift_picousd = excluded.drift_picousd,
        kept = excluded.kept`,
    values: [xmin, drift.toString(), JSON.stringify(kept), isFull],
  });
}
