import { Injectable } from '@nestjs/common';
import { Database } from '../database';
import { IS_WANTED } from './native-batch';

/** SQL: an order of a stopped batch that waits for its next check. */
const HURRIED = `NOT n.is_leased AND n.cancelled_at IS NULL
              AND (n.state IN ('planned', 'uploaded') OR (n.state = 'running' AND n.failures = 0))
              AND n.available_at > now() AND NOT ${IS_WANTED}`;

/** Batches that are being stopped while providers have orders of them. */
@Injectable()
export class NativeStoppingRepository {
  constructor(private readonly database: Database) {}

  /**
   * Returns the numbers of stopping batches with an order that must be checked sooner, or whose end is too soon for an
   * order, except those in `exceptNumbers`.
   */
  async find(exceptNumbers: readonly string[] = []): Promise<string[]> {
    const rows = await this.database.rows<{ number: string }>({
      name: 'native-stopping',
      sql: `SELECT DISTINCT b.number FROM native_batches n JOIN batches b ON b.number = n.batch_number
            WHERE n.state <> 'done' AND b.number <> ALL($1::bigint[])
              AND ((${HURRIED}) OR (b.stop_by < now() + interval '30 seconds' AND b.finalized_at IS NULL))`,
      values: [exceptNumbers],
    });
    return rows.map(({ number }) => number);
  }

  /**
   * Makes orders of a stopping batch due at once, and delays the end of the batch meanwhile, because finished results
   * of a provider belong to it. An order that does not end is given up by `isStuck`. Two kinds of orders keep their
   * pause: one whose provider did not answer (its failures would otherwise soon be too many, and finished results
   * lost), and one that is being searched for.
   */
  async hurry(batchNumber: string): Promise<void> {
    await this.database.execute({
      name: 'native-hurry',
      sql: `UPDATE native_batches n SET available_at = now() FROM batches b
            WHERE b.number = $1 AND n.batch_number = b.number AND n.state <> 'done' AND ${HURRIED}`,
      values: [batchNumber],
    });
    await this.database.execute({
      name: 'native-hold-end',
      sql: `UPDATE batches b SET stop_by = now() + interval '60 seconds'
            WHERE b.number = $1 AND b.stop_by < now() + interval '30 seconds' AND b.finalized_at IS NULL
              AND EXISTS (SELECT 1 FROM native_batches n WHERE n.batch_number = b.number AND n.state <> 'done')`,
      values: [batchNumber],
    });
  }
}
