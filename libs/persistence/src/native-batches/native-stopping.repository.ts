import { Injectable } from '@nestjs/common';
import { Database } from '../database';
import { IS_WANTED } from './native-batch';

/** An order of a batch that goes on no more, which waits for its next look. */
const HURRIED = `NOT n.is_leased AND n.cancelled_at IS NULL
              AND (n.state IN ('planned', 'uploaded') OR (n.state = 'running' AND n.failures = 0))
              AND n.available_at > now() AND NOT ${IS_WANTED}`;

/** Batches that are being stopped while providers hold orders of them. */
@Injectable()
export class NativeStoppingRepository {
  constructor(private readonly database: Database) {}

  /**
   * Returns the numbers of stopping batches that have an order to hurry, or whose end comes too soon for an order, and
   * leaves out those of `exceptNumbers`.
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
   * Makes orders of a batch that is being stopped due at once, and keeps the batch from its end meanwhile: what a
   * provider has finished belongs to it. An order that does not come to an end is given up by `isStuck`. One whose
   * provider did not answer keeps its rest, or its failures would soon be too many, and what was finished lost; so
   * does one that is being searched for.
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
