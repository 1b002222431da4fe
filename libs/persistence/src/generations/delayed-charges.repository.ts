import { Injectable } from '@nestjs/common';
import { textArray } from '../array-literal';
import { Database } from '../database';
import type { GenerationSettlement } from './generation-records';

/** How long a statement here waits for a lock of another process that writes the same charges. */
const LOCK_WAIT_MS = 500;

/** Charges that could not be committed because their account was locked. No lock of a payer is needed to write one. */
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
        sql: `INSERT INTO delayed_charges (id, settlement)
              SELECT id, settlement::json FROM unnest($1::text[], $2::text[]) AS t(id, settlement) ORDER BY id
              ON CONFLICT (id) DO NOTHING`,
        values: [
          textArray(settlements.map(({ id }) => id)),
          textArray(settlements.map((settlement) => JSON.stringify(settlement))),
        ],
      });
    });
  }

  /** Returns charges that were written down at least `olderThanMs` ago, the oldest first, except those in `exceptIds`. */
  async find(olderThanMs: number, limit: number, exceptIds: readonly string[]): Promise<GenerationSettlement[]> {
    const rows = await this.database.rows<{ settlement: GenerationSettlement }>({
      name: 'delayed-charges-find',
      sql: `SELECT settlement FROM delayed_charges
            WHERE created_at <= now() - $1 * interval '1 millisecond' AND id <> ALL($3::text[])
            ORDER BY created_at LIMIT $2`,
      values: [olderThanMs, limit, exceptIds],
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
