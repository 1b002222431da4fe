import type { Database } from '@libs/persistence';
import { amountOf, textOf } from '../support/decimal';

const EVERY_MS = 500;

/** Watches what accounts can spend; an overage, which is documented, counts as covered. */
export function findAvailable(database: Database): { readonly stop: () => string } {
  let least: bigint | null = null;
  let isAsking = false;
  const look = async (): Promise<void> => {
    const row = await database.firstRow<{ least: string | null }>({
      sql: `SELECT min(balance_usd - held_usd + overage_usd)::text AS least FROM ledger_accounts WHERE id LIKE 'org:%'`,
    });
    if (row?.least == null) return;
    const seen = amountOf(row.least);
    if (least === null || seen < least) least = seen;
  };
  const timer = setInterval(() => {
    if (isAsking) return;
    isAsking = true;
    // PostgreSQL is away at times; the next look sees what this one could not.
    look()
      .catch(() => undefined)
      .finally(() => (isAsking = false));
  }, EVERY_MS);
  return {
    stop: () => {
      clearInterval(timer);
      return textOf(least ?? 0n);
    },
  };
}
