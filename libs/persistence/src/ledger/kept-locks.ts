import { setTimeout as delay } from 'node:timers/promises';
import { plainArray } from '../array-literal';
import type { Session } from '../session';

/** Longer than a commit takes. */
const BETWEEN_LOOKS_MS = 1_000;

interface Lock {
  readonly organizationId: string;
  /** The transaction that has it. */
  readonly holder: string;
}

/** Longer than a statement of the apps waits for a lock. */
const LONG_WAIT = "interval '2.5 seconds'";

/**
 * The whole id of the transaction in `a.xmax`, which has its last 32 bits: the last such id before the next one. Ids below
 * three belong to no transaction.
 */
const HOLDER_ID = `greatest(3, next.id - 1 - mod(next.id - 1 - a.xmax::text::numeric + 4294967296, 4294967296))`;

/**
 * The row of a locked account has the id of the transaction that locked it. `pg_locks` lists those that run, but not
 * their savepoints that are over.
 */
const LOCKS_SQL = `
  WITH running AS MATERIALIZED (
    SELECT l.transactionid AS xid, bool_or(s.usename = session_user AND s.state = 'active' AND w.pid IS NULL) AS "isOwn",
           bool_or(w.waitstart > clock_timestamp() - ${LONG_WAIT}) AS "isWaiting"
    FROM pg_locks l LEFT JOIN pg_stat_activity s ON s.pid = l.pid
    LEFT JOIN pg_locks w ON w.pid = l.pid AND NOT w.granted
    WHERE l.locktype = 'transactionid' AND l.granted GROUP BY l.transactionid)
  SELECT substr(a.id, 5) AS "organizationId", a.xmax::text AS holder
  FROM (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::numeric AS id) next
  CROSS JOIN ledger_accounts a LEFT JOIN running r ON r.xid = a.xmax
  WHERE a.id LIKE 'org:%' AND a.xmax::text <> '0'
    AND (r.xid IS NOT NULL OR pg_xact_status(${HOLDER_ID}::text::xid8) = 'in progress')
    AND r."isOwn" IS NOT TRUE AND r."isWaiting" IS NOT TRUE`;

/**
 * Returns those organizations whose account one transaction keeps locked: it has the lock now and still after a second.
 * Locks no account and waits for none. To ask for all, PostgreSQL reads all accounts.
 *
 * A transaction that itself waits for a lock, and not for long, does not count, such as a group of charges behind the
 * lock of one account: it locks the other accounts of its group only until it fails. A statement or commit of the same
 * login does not count either, because it ends soon, even on a slow disk. A lock that several transactions share is not
 * found, nor one that a transaction strengthened in a savepoint.
 */
export async function keptLocks(
  database: Pick<Session, 'rows'>,
  organizationIds: readonly string[] | 'all',
): Promise<ReadonlySet<string>> {
  const found = await locksOf(database, organizationIds);
  if (found.length === 0) return new Set();
  await delay(BETWEEN_LOOKS_MS);
  const holders = new Map(found.map(({ organizationId, holder }) => [organizationId, holder]));
  const still = await locksOf(database, [...holders.keys()]);
  const kept = still.filter(({ organizationId, holder }) => holders.get(organizationId) === holder);
  return new Set(kept.map(({ organizationId }) => organizationId));
}

function locksOf(database: Pick<Session, 'rows'>, organizationIds: readonly string[] | 'all'): Promise<Lock[]> {
  if (organizationIds === 'all') return database.rows<Lock>({ name: 'ledger-locks', sql: LOCKS_SQL });
  return database.rows<Lock>({
    name: 'ledger-locks-among',
    sql: `${LOCKS_SQL} AND a.id IN (SELECT 'org:' || id FROM unnest($1::uuid[]) AS t(id))`,
    values: [plainArray(organizationIds)],
  });
}
