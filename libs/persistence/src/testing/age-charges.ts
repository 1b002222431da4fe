import type { Database } from '../database';

/** Whose charges: one column of the tables of charges, and its value. */
export interface ChargedTo {
  readonly column: 'api_key_hash' | 'workspace_id';
  readonly value: string;
}

/** Farther than any age, so that no two days of a key meet while they are moved. */
const ASIDE_DAYS = 100_000;

/**
 * Makes all charges of a key or workspace so many days older, everywhere: calls, transfers, resolved holds, days of keys
 * and the periods of the keys, and of the workspace. An audit finds the result as consistent as it was before.
 */
export async function ageCharges(database: Database, { column, value }: ChargedTo, days: number): Promise<void> {
  const ofOwner = `${column} = $1`;
  const ofKeys =
    column === 'api_key_hash'
      ? ofOwner
      : `api_key_hash IN (SELECT api_key_hash FROM ledger_transfers WHERE ${ofOwner} AND api_key_hash IS NOT NULL)`;
  const statements = [
    `UPDATE generations SET settled_at = settled_at - make_interval(days => $2::integer) WHERE ${ofOwner}`,
    `UPDATE ledger_transfers SET created_at = created_at - make_interval(days => $2::integer) WHERE ${ofOwner}`,
    `UPDATE ledger_holds SET resolved_at = resolved_at - make_interval(days => $2::integer) WHERE ${ofOwner}`,
    `UPDATE ledger_key_days SET day = day - ${ASIDE_DAYS} - $2::integer WHERE ${ofKeys}`,
    `UPDATE ledger_key_days SET day = day + ${ASIDE_DAYS} + 0 * $2::integer WHERE ${ofKeys}`,
    `UPDATE ledger_keys SET spent_on = spent_on - $2::integer WHERE ${ofKeys}`,
    ...(column === 'workspace_id'
      ? [`UPDATE ledger_workspaces SET spent_on = spent_on - $2::integer WHERE ${ofOwner}`]
      : []),
  ];
  await database.transaction(async (session) => {
    for (const sql of statements) await session.execute({ sql, values: [value, days] });
  });
}
