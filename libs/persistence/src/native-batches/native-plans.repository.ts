import { Injectable } from '@nestjs/common';
import type { Session } from '../database';

/** The facts of a beginning batch that decide its lane. */
export interface BeginningBatch {
  readonly id: string;
  readonly number: bigint;
  readonly createdOn: string;
  readonly endpoint: string;
  readonly model: string;
  readonly provider: string;
  readonly upstreamModel: string;
  /** Milliseconds until its window is over. */
  readonly remainingMs: number;
}

/** Limits of one order. */
export interface PartLimits {
  readonly lines: number;
  /** Bytes of the callers' bodies. */
  readonly bytes: number;
  /**
   * For lines of embeddings: the most inputs in total, and the number of inputs in each line of the batch. Absent: any
   * number.
   */
  readonly inputs?: { readonly most: number; readonly ofLines: readonly number[] } | undefined;
}

interface SegmentSize {
  number: number;
  first_seq: number;
  last_seq: number;
  bytes: string;
}

interface Part {
  first: SegmentSize;
  last: SegmentSize;
  lines: number;
  bytes: number;
  inputs: number;
}

/**
 * Gives a batch to the provider's lane; the intent is recorded first. In one commit, its segments become unavailable to
 * our own lane (they are parked), the rows of the orders are created and the batch becomes `in_progress`.
 */
@Injectable()
export class NativePlansRepository {
  /** Returns the facts by which a beginning batch is planned; null if its provider must not be given files. */
  async beginning(session: Session, number: bigint): Promise<BeginningBatch | null> {
    const row = await session.firstRow<{
      id: string;
      created_on: string;
      endpoint: string;
      model: string;
      provider: string;
      upstream_model: string;
      remaining_ms: string;
    }>({
      name: 'native-beginning',
      sql: `SELECT id, created_on::text AS created_on, endpoint, model, provider, upstream_model,
              (extract(epoch FROM expires_at - now()) * 1000)::bigint AS remaining_ms
            FROM batches WHERE number = $1 AND NOT leaves_nothing`,
      values: [number],
    });
    if (row === null) return null;
    const { id, endpoint, model, provider } = row;
    const common = { id, number, endpoint, model, provider };
    return {
      ...common,
      createdOn: row.created_on,
      upstreamModel: row.upstream_model,
      remainingMs: Number(row.remaining_ms),
    };
  }

  /** Returns how many orders there are to be. `marginMs` before the batch's end they are taken back. */
  async plan(
    session: Session,
    batch: BeginningBatch,
    limits: PartLimits,
    { marginMs, reference }: { readonly marginMs: number; readonly reference: () => string },
  ): Promise<number> {
    await session.mayTake(60);
    const sizes = await session.rows<SegmentSize>({
      sql: `SELECT s.number, s.first_seq, s.last_seq, sum(octet_length(l.body)) AS bytes
            FROM batch_segments s JOIN batch_lines l ON l.created_on = s.created_on
              AND l.batch_number = s.batch_number AND l.seq BETWEEN s.first_seq AND s.last_seq
            WHERE s.batch_number = $1 AND s.created_on = $2 AND s.state = 'open'
            GROUP BY s.number, s.first_seq, s.last_seq ORDER BY s.number`,
      values: [batch.number, batch.createdOn],
    });
    const parts = partsOf(sizes, limits);
    await session.execute({
      sql: `UPDATE batch_segments SET state = 'parked', fence = fence + 1
            WHERE batch_number = $1 AND state = 'open'`,
      values: [batch.number],
    });
    await session.execute({
      sql: `
        INSERT INTO native_batches (reference, batch_id, batch_number, created_on, part, first_segment, last_segment,
          first_seq, last_seq, endpoint, model, provider, upstream_model, organization_id, workspace_id, api_key_hash,
          finish_by)
        SELECT part.reference, b.id, b.number, b.created_on, part.number, part.first_segment, part.last_segment,
          part.first_seq, part.last_seq, b.endpoint, b.model, b.provider, b.upstream_model, b.organization_id,
          b.workspace_id, b.api_key_hash, b.expires_at - $7 * interval '1 millisecond'
        FROM batches b, unnest($2::text[], $3::integer[], $4::integer[], $5::integer[], $6::integer[])
          WITH ORDINALITY AS part(reference, first_segment, last_segment, first_seq, last_seq, number)
        WHERE b.number = $1`,
      values: [
        batch.number,
        parts.map(() => reference()),
        parts.map(({ first }) => first.number),
        parts.map(({ last }) => last.number),
        parts.map(({ first }) => first.first_seq),
        parts.map(({ last }) => last.last_seq),
        marginMs,
      ],
    });
    return parts.length;
  }
}

/** Splits segments into runs within the limits; a run exceeds them only if one segment alone does. */
function partsOf(sizes: readonly SegmentSize[], limits: PartLimits): readonly Part[] {
  const parts: Part[] = [];
  for (const segment of sizes) {
    const lines = segment.last_seq - segment.first_seq + 1;
    const bytes = Number(segment.bytes);
    const inputs = inputsIn(segment, limits);
    const open = parts.at(-1);
    const longer = open && {
      first: open.first,
      last: segment,
      lines: open.lines + lines,
      bytes: open.bytes + bytes,
      inputs: open.inputs + inputs,
    };
    if (longer !== undefined && isWithin(longer, limits)) parts[parts.length - 1] = longer;
    else parts.push({ first: segment, last: segment, lines, bytes, inputs });
  }
  return parts;
}

function isWithin({ lines, bytes, inputs }: Part, limits: PartLimits): boolean {
  return lines <= limits.lines && bytes <= limits.bytes && inputs <= (limits.inputs?.most ?? Number.POSITIVE_INFINITY);
}

function inputsIn({ first_seq: first, last_seq: last }: SegmentSize, { inputs }: PartLimits): number {
  return inputs === undefined ? 0 : inputs.ofLines.slice(first, last + 1).reduce((sum, count) => sum + count, 0);
}
