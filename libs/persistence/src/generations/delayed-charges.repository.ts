import { Injectable } from '@nestjs/common';
import { plainArray, textArray } from '../array-literal';
import { Database } from '../database';
import type { GenerationSettlement } from './generation-records';

/** How long a statement here waits for a lock of another process that writes the same charges. */
const LOCK_WAIT_MS = 500;

/** Charges that could not be committed at once. No lock of a payer is needed to write one. */
@Injectable()
export class DelayedChargesRepository {
  constructor(private readonly database: Database) {}

  /** Writes the charges down; those that are already written do not change. */
  async keep(settlements: readonly GenerationSettlement[]): Promise<void> {
    await this.database.transaction(async (session) => {
      await session.mayWaitForLocks(LOCK_WAIT_MS);
      await session.execute({
        name: 'delayed-charges-keep',
        // In the order of ids, so that two processes with the same charges do not wait for each other.
        sql: `INSERT INTO delayed_charges (id, organization_id, settlement)
              SELECT id, organization_id, settlement::json
              FROM unnest($1::text[], $2::uuid[], $3::text[]) AS t(id, organization_id, settlement) ORDER BY id
              ON CONFLICT (id) DO NOTHING`,
        values: [
          textArray(settlements.map(({ id }) => id)),
          plainArray(settlements.map(({ organizationId }) => organizationId)),
          textArray(settlements.map((settlement) => JSON.stringify(settlement))),
        ],
      });
    });
  }

  /** Returns charges that were written down at least `olderThanMs` ago, the oldest first, except those of some payers. */
  async find(
    olderThanMs: number,
    limit: number,
    exceptOrganizations: readonly string[],
  ): Promise<GenerationSettlement[]> {
    const rows = await this.database.rows<{ settlement: GenerationSettlement }>({
      name: 'delayed-charges-find',
      sql: `SELECT settlement FROM delayed_charges
            WHERE created_at <= now() - $1 * interval '1 millisecond' AND organization_id <> ALL($3::uuid[])
            ORDER BY created_at LIMIT $2`,
      values: [olderThanMs, limit, exceptOrganizations],
    });
    return rows.map(({ settlement }) => settlement);
  }

  /** Removes charges that are committed, or that PostgreSQL finally refused. */
  async remove(ids: readonly string[]): Promise<void> {
    await this.database.execute({
      name: 'delayed-charges-remove',
      sql: 'DELETE FROM delayed_charges WHERE id = ANY($1::text[])',
      values: [ids],
    });
  }
}
