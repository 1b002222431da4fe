import { Injectable } from '@nestjs/common';
import type { CopyRow } from '../copy-row';
import { Database } from '../database';
import type { WorkspaceTenant } from '../tenants/tenant';

/** The batch whose results are read. */
export interface ResultsOf {
  readonly id: string;
  readonly createdOn: string;
  readonly number: bigint;
  /** True if the batch was stopped, so that some of its requests may have no result. */
  readonly isStopped: boolean;
}

export interface ResultRange {
  /** -1 for the first page. */
  readonly afterSeq: number;
  readonly mostItems: number;
  /** The page ends with the result that reaches this size. */
  readonly mostBytes: number;
}

export interface PageWeight {
  readonly items: number;
  /** Bytes of their bodies or errors and their ids. */
  readonly bytes: number;
}

/** Positions of the fields in the rows of `page`. */
export const RESULT_FIELD = { seq: 0, customId: 1, statusCode: 2, requestId: 3, body: 4, error: 5 } as const;

/** Reads the results of a finished batch for callers, page by page. */
@Injectable()
export class BatchResultPagesRepository {
  constructor(private readonly database: Database) {}

  /**
   * Passes on the results after `afterSeq` in the order of the lines, as rows of RESULT_FIELD. A request without a
   * result has neither body nor error. A page is one statement, so no snapshot is held between pages; it ends by number
   * of items or by bytes.
   */
  async page(
    tenant: WorkspaceTenant,
    batch: ResultsOf,
    range: ResultRange,
    onResult: (row: CopyRow) => void,
  ): Promise<void> {
    const select = `SELECT seq, custom_id, status_code, request_id, body, error ${pageSql(batch, range)}`;
    await this.database.asTenant(tenant, [batch.id]).copyEach(select, onResult);
  }

  /** Returns the size of the same page without reading its bodies, so that its reader can reserve memory. */
  async weigh(tenant: WorkspaceTenant, batch: ResultsOf, range: ResultRange): Promise<PageWeight> {
    const sql = `SELECT count(*)::int AS items, coalesce(sum(bytes), 0)::float8 AS bytes ${pageSql(batch, range)}`;
    const [page] = await this.database.asTenant(tenant, [batch.id]).rows<{ items: number; bytes: number }>({ sql });
    return page ?? { items: 0, bytes: 0 };
  }
}

function pageSql(batch: ResultsOf, { afterSeq, mostItems, mostBytes }: ResultRange): string {
  const rows = (batch.isStopped ? linesSql : resultsSql)(batch, afterSeq, mostItems);
  // The length of a body that is stored outside of its row is known without reading it.
  return `
    FROM (
      SELECT *, sum(bytes) OVER (ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
      FROM (
        SELECT *, octet_length(custom_id) + coalesce(octet_length(body), octet_length(error::text), 0) AS bytes
        FROM (${rows}) item
      ) weighed
    ) page WHERE coalesce(bytes_before, 0) < ${mostBytes}`;
}

function resultsSql({ createdOn, number }: ResultsOf, afterSeq: number, mostItems: number): string {
  return `
    SELECT seq, custom_id, status_code, request_id, body, error FROM batch_results
    WHERE created_on = '${createdOn}' AND batch_number = ${number} AND seq > ${afterSeq} ORDER BY seq LIMIT ${mostItems}`;
}

/**
 * SQL for every request, with or without a result (requests of a stopped batch may have none), and every result.
 * Results whose request was lost are included, because they were charged; they are searched only among the line numbers
 * of the page.
 */
function linesSql({ createdOn, number }: ResultsOf, afterSeq: number, mostItems: number): string {
  const of = `created_on = '${createdOn}' AND batch_number = ${number}`;
  return `
    WITH line AS (
      SELECT l.seq, l.custom_id, r.status_code, r.request_id, r.body, r.error
      FROM (SELECT seq, custom_id FROM batch_lines WHERE ${of} AND seq > ${afterSeq} ORDER BY seq LIMIT ${mostItems}) l
      LEFT JOIN batch_results r ON r.created_on = '${createdOn}' AND r.batch_number = ${number} AND r.seq = l.seq
    ), lone_result AS (
      SELECT seq, custom_id, status_code, request_id, body, error FROM batch_results
      WHERE ${of} AND seq > ${afterSeq} AND seq <= coalesce((SELECT max(seq) FROM line), 2147483647)
        AND seq NOT IN (SELECT seq FROM line)
      ORDER BY seq LIMIT ${mostItems}
    )
    SELECT * FROM line UNION ALL SELECT * FROM lone_result ORDER BY seq LIMIT ${mostItems}`;
}
