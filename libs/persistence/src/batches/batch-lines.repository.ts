import { Injectable } from '@nestjs/common';
import { Database } from '../database';
import type { WorkspaceTenant } from '../tenants/tenant';
import type { BatchKey } from './batch-intake.repository';
import { selectLines, type BatchLine } from './select-lines';

/** Reads the requests of batches again. */
@Injectable()
export class BatchLinesRepository {
  constructor(private readonly database: Database) {}

  /** Returns up to `limit` lines after `afterSeq` without a response: they failed, or never ran. */
  async unanswered(
    tenant: WorkspaceTenant,
    { id, createdOn, number: batchNumber }: BatchKey,
    afterSeq: number,
    limit: number,
  ): Promise<BatchLine[]> {
    return selectLines(
      this.database.asTenant(tenant, [id]),
      `l.created_on = '${createdOn}' AND l.batch_number = ${batchNumber} AND l.seq > ${afterSeq}
       AND NOT EXISTS (SELECT 1 FROM batch_results r WHERE r.created_on = '${createdOn}'
                       AND r.batch_number = ${batchNumber} AND r.seq = l.seq AND r.error IS NULL)
       ORDER BY l.seq LIMIT ${limit}`,
    );
  }
}
