import { Injectable } from '@nestjs/common';
import type { CopyRow } from '../copy-row';
import { Database } from '../database';
import type { WorkspaceTenant } from '../tenants/tenant';

/** Whose results are read. */
export interface ResultsOf {
  readonly id: string;
  readonly createdOn: string;
  readonly number: bigint;
  /** Only some of its requests may have a result: it was stopped. */
  readonly isStopped: boolean;
}

export interface ResultRange {
  /** -1 for the first page. */
  readonly afterSeq: number;
  readonly mostItems: number;
  /** The page ends with the result that reaches it. */
  readonly mostBytes: number;
}

/** The fields of a row that is told: see `page`. */
export const RESULT_FIELD = { seq: 0, customId: 1, statusCode: 2, requestId: 3, body: 4, error: 5 } as const;

/** What callers read: the results of a batch that is over, page by page. */
@Injectable()
export class BatchResultPagesRepository {
  constructor(private readonly database: Database) {}

  /**
   * Tells the results after `afterSeq` in the order of the lines, as rows of RESULT_FIELD. A request without a result
   * has neither body nor error. A page is one statement, so no snapshot is held between two of them; it ends by count
   * or by weight, whatever the page before weighed.
   */
  async page(
    tenant: WorkspaceTenant,
    batch: ResultsOf,
    range: ResultRange,
    onResult: (row: CopyRow) => void,
  ): Promise<void> {
    await this.database.asTenant(tenant, [batch.id]).copyEach(pageSql(batch, range), onResult);
  }
}

function pageSql(batch: ResultsOf, { afterSeq, mostItems, mostBytes }: ResultRange): string {
  const rows = batch.isStopped ? linesSql(batch, afterSeq) : resultsSql(batch, afterSeq);
  // The length of a body that is stored outside of its row is known without reading it.
  return `
    SELECT seq, custom_id, status_code, request_id, body, error FROM (
      SELECT *, sum(octet_length(custom_id) + coalesce(octet_length(body), octet_length(error::text), 0))
        OVER (ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
      FROM (${rows} LIMIT ${mostItems}) item
    ) page WHERE coalesce(bytes_before, 0) < ${mostBytes}`;
}

function resultsSql({ createdOn, number }: ResultsOf, afterSeq: number): string {
  return `
    SELECT seq, custom_id, status_code, request_id, body, error FROM batch_results
    WHERE created_on = '${createdOn}' AND batch_number = ${number} AND seq > ${afterSeq} ORDER BY seq`;
}

/** Every request, whether it has a result or not: nobody writes one for those of a stopped batch. */
function linesSql({ createdOn, number }: ResultsOf, afterSeq: number): string {
  return `
    SELECT l.seq, l.custom_id, r.status_code, r.request_id, r.body, r.error FROM batch_lines l
    LEFT JOIN batch_results r ON r.created_on = '${createdOn}' AND r.batch_number = ${number} AND r.seq = l.seq
    WHERE l.created_on = '${createdOn}' AND l.batch_number = ${number} AND l.seq > ${afterSeq} ORDER BY l.seq`;
}
