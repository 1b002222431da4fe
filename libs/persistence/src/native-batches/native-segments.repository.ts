import { Injectable } from '@nestjs/common';
import { selectLines, type BatchLine } from '../batches/select-lines';
import type { SegmentLease } from '../batches/batch-segments.repository';
import { Database } from '../database';
import type { NativeBatch } from './native-batches.repository';

/** A segment that is run by the provider's lane. */
export interface NativeSegment extends SegmentLease {
  readonly firstSeq: number;
  readonly lastSeq: number;
}

/** The lines and segments of an order. */
@Injectable()
export class NativeSegmentsRepository {
  constructor(private readonly database: Database) {}

  /** Returns the order's segments that still wait for it, in order; the others are done or were taken back. */
  async held(order: NativeBatch): Promise<NativeSegment[]> {
    const rows = await this.database.rows<{ number: number; fence: string; first_seq: number; last_seq: number }>({
      name: 'native-segments',
      sql: `SELECT number, fence, first_seq, last_seq FROM batch_segments
            WHERE batch_number = $1 AND number BETWEEN $2 AND $3 AND state = 'parked'
            ORDER BY number`,
      values: [order.batchNumber, order.firstSegment, order.lastSegment],
    });
    return rows.map((row) => ({
      batchNumber: order.batchNumber,
      number: row.number,
      fence: BigInt(row.fence),
      firstSeq: row.first_seq,
      lastSeq: row.last_seq,
    }));
  }

  /** Returns the lines of a segment without a result, in order. */
  async unfinishedLines(order: NativeBatch, segment: NativeSegment): Promise<BatchLine[]> {
    return selectLines(
      this.database,
      `${linesOf(order)} AND l.seq BETWEEN ${segment.firstSeq} AND ${segment.lastSeq}
       AND NOT EXISTS (SELECT 1 FROM batch_results r WHERE r.created_on = l.created_on
                       AND r.batch_number = l.batch_number AND r.seq = l.seq) ORDER BY l.seq`,
    );
  }

  /** Some of its lines, by their numbers. */
  async lines(order: NativeBatch, seqs: readonly number[]): Promise<ReadonlyMap<number, BatchLine>> {
    if (seqs.length === 0) return new Map();
    const lines = await selectLines(
      this.database,
      `${linesOf(order)} AND l.seq IN (${seqs.map(Math.trunc).join(',')})`,
    );
    return new Map(lines.map((line) => [line.seq, line]));
  }
}

function linesOf({ createdOn, batchNumber }: NativeBatch): string {
  return `l.created_on = '${createdOn}' AND l.batch_number = ${batchNumber}`;
}
