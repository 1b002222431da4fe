import type { Database } from '@libs/persistence';
import { eventually } from '../support/eventually';

/** What the books say of one call. Money as exact decimal strings. */
export interface StoredGeneration {
  readonly state: string;
  readonly outcome: string | null;
  readonly provider: string | null;
  readonly provenance: string | null;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly cost: string;
  /** Charges under the id of the call. */
  readonly charges: readonly string[];
}

/** The row of a call that is settled within the time a caller may expect. */
export function settledGeneration(database: Database, id: string): Promise<StoredGeneration> {
  return eventually(`${id} is settled`, 5_000, async () => {
    const row = await database.firstRow<StoredGeneration>({
      sql: `
        SELECT g.state, g.outcome, g.provider, g.usage_provenance AS provenance, g.prompt_tokens::integer,
               g.completion_tokens::integer, g.cost_usd::text AS cost,
               ARRAY(SELECT t.amount_usd::text FROM ledger_transfers t WHERE t.reference = g.id AND t.kind = 'charge') AS charges
        FROM generations g WHERE g.id = $1`,
      values: [id],
    });
    return row?.state === 'open' || row === null ? undefined : row;
  });
}
