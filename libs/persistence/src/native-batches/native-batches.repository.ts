import { Injectable } from '@nestjs/common';
import { withinRooms, type ClaimRooms } from '../claims/claim-rooms';
import { Database, sqlStateOf, type SqlValue } from '../database';
import { storableText } from '../storable-text';
import { IS_WANTED, ORDER_COLUMNS, toNativeBatch, type NativeBatch, type NativeRow } from './native-batch';

export type { NativeBatch } from './native-batch';

export type NativeLease = Pick<NativeBatch, 'reference' | 'fence'>;

const UNIQUE_VIOLATION = '23505';
const OPEN = `state <> 'done'`;
const DUE = 'available_at <= now() AND reference <> ALL($3::text[])';
const CLAIMED = { table: 'native_batches', id: 'reference', at: 'available_at', open: OPEN, due: DUE };
const NOT_SUBMITTED = `state = 'uploaded', submitted_at = NULL, is_leased = false, available_at = now()`;

/**
 * Orders at providers. A claim is one UPDATE by the database's clock that raises the fence; every other write carries
 * the fence and changes no row if another worker has the lease. Ids that a provider returns are stored before anything
 * else is done with them.
 */
@Injectable()
export class NativeBatchesRepository {
  constructor(private readonly database: Database) {}

  /** Claims orders that are due, the longest waiting first, except those in `exceptReferences`. */
  async claim(
    limit: number,
    leaseMs: number,
    exceptReferences: readonly string[] = [],
    rooms: ClaimRooms | null = null,
  ): Promise<NativeBatch[]> {
    const rows = await this.database.rows<NativeRow>({
      name: 'native-claim',
      sql: `
        WITH picked AS (
          SELECT reference FROM (${withinRooms(CLAIMED, '$4', '$1')}) due JOIN native_batches o ON o.reference = due.id
          WHERE ${OPEN} AND ${DUE} ORDER BY due.at, due.id LIMIT $1 FOR UPDATE OF o SKIP LOCKED
        )
        UPDATE native_batches n
        SET available_at = now() + $2 * interval '1 millisecond', is_leased = true, fence = n.fence + 1
        FROM picked p LEFT JOIN native_batches q USING (reference) LEFT JOIN batches b ON b.number = q.batch_number
        WHERE n.reference = p.reference
        RETURNING ${ORDER_COLUMNS}`,
      values: [limit, leaseMs, exceptReferences, rooms && JSON.stringify(rooms)],
    });
    return rows.map(toNativeBatch);
  }

  /** Extends the lease; returns false if another worker has it. An order that was just given back is not changed. */
  async renew(order: NativeLease, leaseMs: number): Promise<boolean> {
    const set = `available_at = CASE WHEN is_leased THEN now() + $3 * interval '1 millisecond' ELSE available_at END`;
    return this.write(order, set, [leaseMs]);
  }

  /** Makes the order due again after this time. Counts problems in a row. */
  async rest(order: NativeLease, delayMs: number, problem: string | null = null): Promise<boolean> {
    return this.write(
      order,
      `available_at = now() + $3 * interval '1 millisecond', is_leased = false, problem = $4,
       failures = CASE WHEN $4::text IS NULL THEN 0 ELSE failures + 1 END`,
      [delayMs, problem === null ? null : storableText(problem)],
    );
  }

  /** Releases the order unchanged; it is due again after this time. */
  async wait(order: NativeLease, delayMs: number): Promise<boolean> {
    const set = `available_at = now() + $3 * interval '1 millisecond', is_leased = false`;
    return this.write(order, set, [delayMs]);
  }

  /**
   * Stores the credential that the order will use, and that its file, if it has one, is being uploaded. From here on
   * the provider may store data of the batch, which its owner may want removed.
   */
  async pin(order: NativeBatch, credentialId: string | null, hasFile: boolean): Promise<boolean> {
    return this.database.transaction(async (session) => {
      const touched = await session.execute({
        name: 'native-pin',
        sql: `UPDATE native_batches
              SET credential_id = $3, unanswered_uploads = unanswered_uploads + $4::boolean::integer
              WHERE reference = $1 AND fence = $2 AND state = 'planned'`,
        values: [order.reference, order.fence, credentialId, hasFile],
      });
      await session.execute({
        name: 'native-removal-due',
        sql: `UPDATE batches SET upstream_deletion = 'due' WHERE number = $1 AND upstream_deletion IS NULL`,
        values: [order.batchNumber],
      });
      return touched === 1;
    });
  }

  /** Records that the provider has refused the file. */
  async notUploaded(order: NativeLease): Promise<boolean> {
    return this.write(order, 'unanswered_uploads = unanswered_uploads - 1', []);
  }

  /** Records that the provider has the file. Without one, nothing is left to do before the lines are sent. */
  async uploaded(order: NativeBatch, inputFileId: string | null, sentLines: number): Promise<boolean> {
    const set = `state = 'uploaded', input_file_id = $3, sent_lines = $4, failures = 0,
      unanswered_uploads = unanswered_uploads - ($3::text IS NOT NULL)::integer`;
    return this.write(order, set, [inputFileId, sentLines]);
  }

  /**
   * Records the intent to submit: from now on the provider may have the order. Also returns false if its batch is
   * stopping.
   * @param sentLines lines that are sent with the order itself, by whose number it may have to be found; null for those
   * of a file
   */
  async submitting(order: NativeLease, sentLines: number | null): Promise<boolean> {
    const touched = await this.database.execute({
      name: 'native-submitting',
      sql: `UPDATE native_batches n SET state = 'submitting', submitted_at = now(), looks = 0,
              sent_lines = coalesce($3, n.sent_lines)
            FROM batches b
            WHERE n.reference = $1 AND n.fence = $2 AND n.state <> 'done' AND b.number = n.batch_number AND ${IS_WANTED}`,
      values: [order.reference, order.fence, sentLines],
    });
    return touched === 1;
  }

  /** Records that the provider has it, with this id; returns false if another order has the same id. */
  async running(order: NativeLease, upstreamId: string, isAdopted: boolean): Promise<boolean> {
    const set = `state = 'running', upstream_id = $3, adopted = $4, failures = 0, problem = NULL`;
    try {
      return await this.write(order, set, [upstreamId, isAdopted]);
    } catch (error) {
      if (sqlStateOf(error) === UNIQUE_VIOLATION) return false;
      throw error;
    }
  }

  /**
   * Records the provider's id of an order whose lease was lost while the provider answered. Unlike the result of a
   * search it is certain, so it is recorded whichever worker holds the order now, unless the order has ended or runs
   * with another id.
   * @returns false if no order refers to the job any more, so its output will not be used
   */
  async runningAfterAll({ reference, provider }: NativeBatch, upstreamId: string): Promise<boolean> {
    try {
      const touched = await this.database.execute({
        name: 'native-running-after-all',
        sql: `UPDATE native_batches
              SET state = 'running', upstream_id = $2, adopted = false, failures = 0, problem = NULL, fence = fence + 1,
                  is_leased = false, available_at = now()
              WHERE reference = $1 AND state IN ('uploaded', 'submitting') AND upstream_id IS NULL`,
        values: [reference, upstreamId],
      });
      if (touched === 1) return true;
    } catch (error) {
      if (sqlStateOf(error) !== UNIQUE_VIOLATION) throw error;
    }
    const known = await this.database.firstRow({
      sql: 'SELECT 1 FROM native_batches WHERE provider = $1 AND upstream_id = $2',
      values: [provider, upstreamId],
    });
    return known !== null;
  }

  /** Returns the ids among `upstreamIds` that are known to belong to another order. */
  async takenFor(order: NativeBatch, upstreamIds: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await this.database.rows<{ upstream_id: string }>({
      name: 'native-taken',
      sql: `SELECT upstream_id FROM native_batches
            WHERE provider = $1 AND upstream_id = ANY($2::text[]) AND NOT adopted AND reference <> $3`,
      values: [order.provider, upstreamIds, order.reference],
    });
    return new Set(rows.map((row) => row.upstream_id));
  }

  /** Records a search that found nothing. */
  async looked(order: NativeLease, delayMs: number): Promise<boolean> {
    const set = `looks = looks + 1, failures = 0, is_leased = false, available_at = now() + $3 * interval '1 millisecond'`;
    return this.write(order, set, [delayMs]);
  }

  /** Records that the job adopted for the order belongs to another; the order is searched for again. */
  async disown(order: NativeLease, upstreamId: string): Promise<boolean> {
    return this.write(
      order,
      `state = 'submitting', upstream_id = NULL, adopted = false, not_ours = not_ours || $3::text, looks = 0, is_leased = false, available_at = now()`,
      [upstreamId],
    );
  }

  /** Records that the provider has refused the order: it may be submitted again. */
  async notSubmitted(order: NativeLease): Promise<boolean> {
    return this.write(order, NOT_SUBMITTED, []);
  }

  /**
   * Records that an order whose submission was not answered was searched for long enough: it may be submitted again,
   * and the loss is counted.
   */
  async notArrived(order: NativeLease): Promise<boolean> {
    return this.write(order, `${NOT_SUBMITTED}, losses = losses + 1`, []);
  }

  /**
   * Records that the provider ran nothing of the order because too much is waiting there: it may be submitted again
   * later. Returns false if no other order of ours runs with the same key and model, so that waiting would not help.
   */
  async postpone(order: NativeLease, delayMs: number): Promise<boolean> {
    const touched = await this.database.execute({
      name: 'native-postpone',
      sql: `UPDATE native_batches n
            SET state = 'uploaded', submitted_at = NULL, upstream_id = NULL, adopted = false, output_ids = '{}',
              not_ours = not_ours || n.upstream_id, failures = 0, is_leased = false,
              available_at = now() + $3 * interval '1 millisecond'
            WHERE n.reference = $1 AND n.fence = $2 AND n.state = 'running' AND EXISTS (
              SELECT 1 FROM native_batches o
              WHERE o.state = 'running' AND o.provider = n.provider AND o.upstream_model = n.upstream_model
                AND o.credential_id IS NOT DISTINCT FROM n.credential_id AND o.reference <> n.reference)`,
      values: [order.reference, order.fence, delayMs],
    });
    return touched === 1;
  }

  /** Whether the order is certainly not at the provider, so that it may be ended. */
  async abandon(order: NativeLease, problem: string): Promise<boolean> {
    const touched = await this.database.execute({
      sql: `UPDATE native_batches SET problem = $3
            WHERE reference = $1 AND fence = $2 AND state IN ('planned', 'uploaded')`,
      values: [order.reference, order.fence, storableText(problem)],
    });
    return touched === 1;
  }

  async cancelled(order: NativeLease, delayMs: number): Promise<boolean> {
    return this.write(
      order,
      `cancelled_at = now(), is_leased = false, available_at = now() + $3 * interval '1 millisecond'`,
      [delayMs],
    );
  }

  async wrote(order: NativeLease, outputIds: readonly string[]): Promise<boolean> {
    return this.write(order, 'output_ids = $3', [outputIds]);
  }

  /**
   * Ends an order and takes back its segments without a result, in one commit. While the batch continues, they go to
   * our own lane; otherwise they are closed, and the end of the batch counts their lines. Their fences are raised, so
   * that no result of the order can be stored any more.
   */
  async finish(order: NativeBatch, problem: string | null): Promise<boolean> {
    return this.database.transaction(async (session) => {
      const touched = await session.execute({
        name: 'native-finish',
        sql: `UPDATE native_batches SET state = 'done', problem = coalesce($3, problem)
              WHERE reference = $1 AND fence = $2 AND state <> 'done'`,
        values: [order.reference, order.fence, problem === null ? null : storableText(problem)],
      });
      if (touched !== 1) return false;
      await session.execute({
        name: 'native-take-back',
        sql: `
          UPDATE batch_segments s
          SET available_at = now(), fence = s.fence + 1,
              state = CASE WHEN ${IS_WANTED} THEN 'open' ELSE 'done' END
          FROM (SELECT number FROM batch_segments
                WHERE batch_number = $1 AND number BETWEEN $2 AND $3 AND state = 'parked'
                ORDER BY number FOR UPDATE) left_over, batches b
          WHERE s.batch_number = $1 AND s.number = left_over.number AND b.number = $1`,
        values: [order.batchNumber, order.firstSegment, order.lastSegment],
      });
      return true;
    });
  }

  /** Returns every order of a batch, to remove what its provider stores. */
  async ofBatch(batchId: string): Promise<NativeBatch[]> {
    const rows = await this.database.rows<NativeRow>({
      name: 'native-of-batch',
      sql: `SELECT ${ORDER_COLUMNS} FROM native_batches n LEFT JOIN batches b ON b.number = n.batch_number
            WHERE n.batch_id = $1 ORDER BY n.part`,
      values: [batchId],
    });
    return rows.map(toNativeBatch);
  }

  /** Deletes rows of orders that are no longer needed. */
  async forgetOld(): Promise<number> {
    return this.database.execute({
      name: 'native-forget',
      sql: `DELETE FROM native_batches WHERE state = 'done' AND created_at < now() - interval '35 days'`,
    });
  }

  private async write(order: NativeLease, set: string, values: readonly SqlValue[]): Promise<boolean> {
    const touched = await this.database.execute({
      sql: `UPDATE native_batches SET ${set} WHERE reference = $1 AND fence = $2 AND state <> 'done'`,
      values: [order.reference, order.fence, ...values],
    });
    return touched === 1;
  }
}
