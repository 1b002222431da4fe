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

/** The row of a locked account has the id of the transaction that locked it, and `pg_locks` lists those that run. */
const LOCKS_SQL = `
  WITH holders AS MATERIALIZED (
    SELECT l.transactionid FROM pg_locks l LEFT JOIN pg_stat_activity s ON s.pid = l.pid
    WHERE l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock' AND l.granted
      AND NOT EXISTS (SELECT FROM pg_locks w WHERE w.pid = l.pid AND NOT w.granted)
      AND (s.usename = session_user AND s.state = 'active') IS NOT TRUE)
  SELECT substr(a.id, 5) AS "organizationId", a.xmax::text AS holder FROM ledger_accounts a
  WHERE a.id LIKE 'org:%' AND a.xmax IN (SELECT transactionid FROM holders)`;

/**
 * Returns those organizations whose account one transaction keeps locked: it has the lock now and still after a second.
 * Takes no lock and waits for none. To ask for all, PostgreSQL reads all accounts.
 *
 * A transaction that itself waits for a lock does not count, such as a group of charges behind the lock of one account:
 * it locks the other accounts of its group only until it fails. A statement or commit of the same login does not count
 * either, because it ends soon, even on a slow disk. A lock that several sessions share is not found.
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
