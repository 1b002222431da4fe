import { Injectable } from '@nestjs/common';
import { Database } from '../database';
import type { BatchKey } from './batch-intake.repository';
import { discardRows } from './stored-upload';

/** Uploads whose gateway died. */
@Injectable()
export class StaleUploadsRepository {
  constructor(private readonly database: Database) {}

  /** Returns up to `limit` uploads whose lease has expired, except those in `exceptIds`. */
  async find(limit: number, exceptIds: readonly string[]): Promise<BatchKey[]> {
    const rows = await this.database.rows<{ id: string; number: string; created_on: string }>({
      name: 'uploads-stale',
      sql: `SELECT id, number, created_on::text AS created_on FROM batches
            WHERE status = 'receiving' AND finalized_at IS NULL AND lease_until < now() AND id <> ALL($2::text[])
            ORDER BY lease_until LIMIT $1`,
      values: [limit, exceptIds],
    });
    return rows.map((row) => ({ id: row.id, number: BigInt(row.number), createdOn: row.created_on }));
  }
  /** Removes every trace of such an upload; returns false if its gateway has renewed or ended the lease meanwhile. */
  async discard(key: BatchKey): Promise<boolean> {
    return this.database.transaction((session) => discardRows(session, key, 'stale'));
  }
}
