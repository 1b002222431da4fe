import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { from as copyFrom } from 'pg-copy-streams';
import { AppError } from '@libs/errors';
import { Database, sqlStateOf, type Session } from '../database';
import { SubmittedRows, type SubmissionKey } from '../submitted-rows';
import type { StoredQuote } from './batch-quote';
import { discardRows, storedUploadOf } from './stored-upload';
import { NEW_BATCH_VIEW, toBatchView, type BatchView, type BatchViewRow } from './batch-views.repository';

/** Names the bulk rows of a batch. */
export interface BatchKey {
  readonly id: string;
  readonly number: bigint;
  /** UTC day of creation, `YYYY-MM-DD`. */
  readonly createdOn: string;
}

export interface BatchOwner {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly apiKeyHash: string;
}

export interface SegmentRange {
  readonly number: number;
  readonly firstSeq: number;
  readonly lastSeq: number;
}

export interface BatchAcceptance {
  readonly endpoint: string;
  readonly model: string;
  readonly provider: string;
  readonly upstreamModel: string;
  /** The caller's own key that the lines of the batch use first; null or absent for the operator's. */
  readonly credentialId?: string | null;
  /** True if only the fee is reserved, so it must be called with its owner's keys or not at all. */
  readonly isOwnKeysOnly?: boolean;
  /** True if its provider may store nothing, so the batch is not sent to the provider's batch API. */
  readonly leavesNothing?: boolean;
  readonly total: number;
  /** Webhook URL for its end; null or absent if there is none. */
  readonly callbackUrl?: string | null;
  readonly idempotency: SubmissionKey | null;
  /** The quote of cost and time that its caller gets; null or absent if there is none. */
  readonly quote?: StoredQuote | null;
}

const UNIQUE_VIOLATION = '23505';
const WINDOW = `interval '24 hours'`;

/**
 * Rows of a batch whose upload is still running. A large upload is written in slices, each in its own short
 * transaction, for a `receiving` batch that no caller can see. The last slice and the acceptance commit together. An
 * upload that ends early is discarded; one whose gateway died is removed by the sweep.
 */
@Injectable()
export class BatchIntakeRepository extends SubmittedRows {
  constructor(database: Database) {
    super(database, 'batches');
  }

  /** Assigns a number and day to a new batch; nothing is stored yet. */
  async reserve(id: string): Promise<BatchKey> {
    const row = await this.database.firstRow<{ number: string; today: string }>({
      name: 'batch-reserve',
      sql: `SELECT nextval('batches_number_seq')::text AS number, (now() AT TIME ZONE 'UTC')::date::text AS today`,
    });
    if (row === null) throw new AppError('server', 'Internal error', { internal: 'no batch number' });
    return { id, number: BigInt(row.number), createdOn: row.today };
  }

  /**
   * Runs the work in one transaction. It may run twice, so it must not consume anything that a second run would need.
   */
  async slice<T>(work: (session: Session) => Promise<T>): Promise<T> {
    return this.database.transaction(work);
  }

  /**
   * Runs the work that accepts the batch. If COMMIT is not answered, looks up whether the batch exists.
   * @throws CommitUnknown if that could not be determined: nothing of the batch may be removed then
   */
  async accepting<T>({ id }: BatchKey, work: (session: Session) => Promise<T>): Promise<T> {
    const happened = async (session: Session): Promise<boolean> => {
      const sql = `SELECT 1 FROM batches WHERE id = $1 AND status <> 'receiving'`;
      return (await session.firstRow({ name: 'batch-was-accepted', sql, values: [id] })) !== null;
    };
    return this.database.transaction(work, { id: `batch ${id}`, happened });
  }

  /**
   * Creates the batch row, or reports that its upload is alive for another `leaseMs`.
   * @param isBegun whether something of the batch was stored before
   * @returns the partition for its lines, locked until the transaction ends
   * @throws AppError server if the stored part was swept meanwhile: the batch would lack its first lines
   */
  async keepReceiving(
    session: Session,
    key: BatchKey,
    owner: BatchOwner,
    { leaseMs, isBegun }: { readonly leaseMs: number; readonly isBegun: boolean },
  ): Promise<string> {
    const row = await session.firstRow<{ created: boolean; partition: string }>({
      name: 'batch-receiving',
      sql: `
        INSERT INTO batches (id, number, created_on, organization_id, workspace_id, api_key_hash, endpoint, model,
                             status, lease_until, expires_at)
        VALUES ($1, $2, $3, $4, $5, $6, '', '', 'receiving', now() + $7 * interval '1 millisecond', now() + ${WINDOW})
        ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until WHERE batches.status = 'receiving'
        RETURNING xmax = 0 AS created, lines_partition(created_on) AS partition`,
      values: [key.id, key.number, key.createdOn, owner.organizationId, owner.workspaceId, owner.apiKeyHash, leaseMs],
    });
    if (row === null || row.created === isBegun) throw swept(key);
    return row.partition;
  }

  /**
   * Writes encoded lines (see BatchLineEncoder).
   *
   * @param partition as `keepReceiving` returned it
   * @throws AppError unprocessable, naming the custom_id that appears twice
   */
  async copyLines(session: Session, partition: string, encodedLines: Buffer): Promise<void> {
    const sink = session.client.query(
      copyFrom(`COPY ${partition} (created_on, batch_number, seq, custom_id, body) FROM STDIN (FORMAT binary)`),
    );
    try {
      await pipeline(Readable.from([encodedLines]), sink);
    } catch (error) {
      throw duplicateCustomId(error) ?? error;
    }
  }

  async addSegments(session: Session, key: BatchKey, segments: readonly SegmentRange[]): Promise<void> {
    await session.execute({
      name: 'batch-add-segments',
      sql: `
        INSERT INTO batch_segments (batch_number, created_on, number, first_seq, last_seq)
        SELECT $1, $2, t.* FROM unnest($3::integer[], $4::integer[], $5::integer[]) AS t`,
      values: [
        key.number,
        key.createdOn,
        segments.map((segment) => segment.number),
        segments.map((segment) => segment.firstSeq),
        segments.map((segment) => segment.lastSeq),
      ],
    });
  }

  /**
   * Checks that there are lines and segments for each of 0…total−1 and no others, as PostgreSQL counts them. The time
   * grows with their number, so it runs before locks for which others wait.
   * @throws AppError server if the batch would begin without some of its lines
   */
  async requireWhole(session: Session, { id, number: batchNumber, createdOn }: BatchKey, total: number): Promise<void> {
    const stored = await storedUploadOf(session, { number: batchNumber, createdOn }, total);
    if (stored.isWhole) return;
    const internal = `batch ${id} of ${total} lines is stored with ${stored.lines} in ${stored.segments} segments`;
    throw new AppError('server', 'Internal error', { internal });
  }

  /**
   * Turns the received batch into a visible one that waits for validation, and returns it.
   * @throws SubmittedBefore if the workspace used the idempotency key for another batch
   */
  async accept(session: Session, key: BatchKey, acceptance: BatchAcceptance): Promise<BatchView> {
    const accepted = session.firstRow<BatchViewRow>({
      name: 'batch-accept',
      sql: `
        UPDATE batches b SET status = 'validating', lease_until = NULL, endpoint = $2, model = $3, provider = $4,
                           upstream_model = $5, total = $6, idempotency_key = $7, request_hash = $8, callback_url = $9, quote = $10,
                           credential_id = $11, own_keys_only = $12, leaves_nothing = $13,
                           created_at = now(), expires_at = now() + ${WINDOW}
        WHERE id = $1 AND status = 'receiving'
        RETURNING ${NEW_BATCH_VIEW}`,
      values: [
        key.id,
        acceptance.endpoint,
        acceptance.model,
        acceptance.provider,
        acceptance.upstreamModel,
        acceptance.total,
        acceptance.idempotency?.key ?? null,
        acceptance.idempotency?.requestHash ?? null,
        acceptance.callbackUrl ?? null,
        acceptance.quote ? JSON.stringify(acceptance.quote) : null,
        acceptance.credentialId ?? null,
        acceptance.isOwnKeysOnly === true,
        acceptance.leavesNothing === true,
      ],
    });
    const row = await accepted.catch((error: unknown) => {
      throw this.refusalOf(error);
    });
    if (row === null) throw swept(key);
    return toBatchView(row);
  }

  /**
   * Removes every trace of an upload that was refused or broke off; returns false if it is not, or no longer, an
   * upload.
   */
  async discard(key: BatchKey): Promise<boolean> {
    return this.database.transaction((session) => discardRows(session, key));
  }
}

function swept({ id }: BatchKey): AppError {
  return new AppError('server', 'Internal error', { internal: `batch ${id} was swept during its upload` });
}

function duplicateCustomId(error: unknown): AppError | null {
  if (sqlStateOf(error) !== UNIQUE_VIOLATION) return null;
  const { constraint, detail } = error as { constraint?: string; detail?: string };
  if (constraint?.includes('custom_id') !== true) return null;
  const customId = /=\(\d+, (.*), \d{4}-\d\d-\d\d\) already exists/s.exec(detail ?? '')?.[1];
  const named = customId === undefined ? 'a custom_id' : `custom_id ${JSON.stringify(customId)}`;
  return new AppError('unprocessable', `${named} appears more than once in requests`, {
    metadata: { param: 'requests.custom_id' },
  });
}
