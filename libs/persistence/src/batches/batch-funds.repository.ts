import { Injectable } from '@nestjs/common';
import type { AppError } from '@libs/errors';
import { Database, type Session } from '../database';
import { refusalOf, type Spender } from '../ledger/room-to-spend';
import { setAside, type HoldRefusal } from '../ledger/set-aside';
import { counted } from './batch-charges';

/** Lines of a batch that a worker, or an order at a provider, is running or wants to begin. */
export interface LinesToReserve {
  readonly batchId: string;
  readonly spender: Spender;
  /** Id of the worker or of the order. Its last request replaces earlier ones. */
  readonly holder: string;
  /** Number of lines that were begun and have no stored result. */
  readonly underWay: number;
  /** Number of lines to begin, at least 1. */
  readonly wanted: number;
  /** True: all lines or none, as an order needs. False (default): fewer lines if there is less money. */
  readonly isWhole?: boolean;
}

export type ReservationVerdict =
  /** This many lines may begin, from 1 to `wanted`. */
  | { readonly kind: 'granted'; readonly lines: number }
  /** No line may begin. `error` says what is left; `refusedForMs` is how long no line of the batch was granted. */
  | { readonly kind: 'refused'; readonly error: AppError; readonly refusedForMs: number }
  /** The batch or its hold is closed. */
  | { readonly kind: 'closed' };

/** A reservation expires after this time, because its worker must have died: calls of lines take less. */
const HOLDER_SECONDS = 600;
/** If there is not enough money for a group of lines, a fraction of it is tried. */
const FEWER = 8;

/**
 * Money for the lines of a batch that costs more than estimated: the expected cost of the running lines in all workers
 * must be held before more of them begin.
 *
 * A request states how many lines its holder has in total, so it can be repeated after an unanswered COMMIT: the second
 * request finds the money held. A worker that dies leaves the extension on the hold, where the next one finds it. Rows
 * are locked in the same order as when batches end and results are stored: batch, hold, account, key, workspace.
 */
@Injectable()
export class BatchFundsRepository {
  constructor(private readonly database: Database) {}

  /**
   * Extends the hold from the available money if it does not cover the lines, each at the mean cost so far. Before the
   * first answer, lines are refused while credits, key or a budget are overdrawn, even if the hold covers the estimate.
   */
  async reserve(request: LinesToReserve): Promise<ReservationVerdict> {
    let refusal: NotCovered | null = null;
    for (const lines of triesOf(request)) {
      const verdict = await this.tryToReserve(request, lines);
      if (!(verdict instanceof NotCovered)) return verdict === 'closed' ? { kind: 'closed' } : granted(lines);
      refusal = verdict;
    }
    const refusedForMs = await this.noteRefusal(request);
    if (refusedForMs === null || refusal === null) return { kind: 'closed' };
    return { kind: 'refused', error: await refusalOf(this.database, request.spender, refusal), refusedForMs };
  }

  /** Reports that the holder has no more running lines. */
  async release({ batchId, holder }: Pick<LinesToReserve, 'batchId' | 'holder'>): Promise<void> {
    await this.database.execute({
      name: 'batch-funds-release',
      sql: `UPDATE ledger_holds SET reserved = reserved - $2::text WHERE id = $1 AND state = 'open' AND reserved ? $2::text`,
      values: [batchId, holder],
    });
  }

  private async tryToReserve(request: LinesToReserve, lines: number): Promise<'granted' | 'closed' | NotCovered> {
    const { batchId, spender, holder, underWay } = request;
    const tried = this.database.transaction(async (session) => {
      const price = await lockAndPrice(session, request, underWay + lines);
      if (price === null) return 'closed';
      const { missingUsd, isProven } = price;
      // The cost of its lines is still unknown, so no further debt is risked.
      if (missingUsd !== '0' || !isProven) {
        const by = await setAside(session, { ...spender, amountUsd: missingUsd });
        if (by !== null) throw new NotCovered(by, missingUsd);
      }
      await session.execute({
        name: 'batch-funds-reserve',
        sql: `UPDATE ledger_holds h SET amount_usd = h.amount_usd + $4::numeric, reserved = ${reservedWith('$3')},
                refused_since = NULL
              WHERE id = $1`,
        values: [batchId, holder, underWay + lines, missingUsd],
      });
      return 'granted';
    });
    return tried.catch((error: unknown) => {
      if (error instanceof NotCovered) return error;
      throw error;
    });
  }

  /** Returns for how long no line was granted, including this time; null if the hold is not open. */
  private async noteRefusal({ batchId, holder, underWay }: LinesToReserve): Promise<number | null> {
    return this.database.transaction(async (session) => {
      await session.execute(meter(batchId));
      const row = await session.firstRow<{ ms: number }>({
        name: 'batch-funds-refused',
        sql: `UPDATE ledger_holds h SET refused_since = coalesce(refused_since, now()), reserved = ${reservedWith('$3')}
              WHERE id = $1 AND state = 'open'
              RETURNING (extract(epoch FROM now() - refused_since) * 1000)::float8 AS ms`,
        values: [batchId, holder, underWay],
      });
      return row?.ms ?? null;
    });
  }
}

/** Ends the transaction of an extension without a trace. */
class NotCovered extends Error {
  constructor(
    readonly by: HoldRefusal,
    readonly amountUsd: string,
  ) {
    super(by);
  }
}

function granted(lines: number): ReservationVerdict {
  return { kind: 'granted', lines };
}

function triesOf({ wanted, isWhole = false }: LinesToReserve): ReadonlySet<number> {
  return new Set(isWhole ? [wanted] : [wanted, Math.ceil(wanted / FEWER), 1]);
}

/** From then on a worker that claims one of its segments knows that the batch needs reservations. */
const meter = (batchId: string) => ({
  name: 'batch-funds-meter',
  sql: 'UPDATE batches SET is_metered = true WHERE id = $1 AND NOT is_metered',
  values: [batchId],
});

const IS_VALID = 'to_timestamp((one.value ->> 1)::float8) > now()';

/** SQL for the reservations of a hold with that of the holder, `$2`. */
const reservedWith = (lines: string): string => `(
    SELECT coalesce(jsonb_object_agg(one.key, one.value), '{}') FROM jsonb_each(coalesce(h.reserved, '{}')) one
    WHERE ${IS_VALID}
  ) || jsonb_build_object($2::text, jsonb_build_array(${lines}::integer, extract(epoch FROM now()) + ${HOLDER_SECONDS}))`;

/**
 * SQL for the missing amount. Lines are priced at the mean of the answered ones; before the first answer, at the
 * estimate. Orders at the provider count completely. No more lines can be running than have no result.
 */
const MISSING_SQL = `
  SELECT trim_scale(greatest(0, ceil((settled.usd - h.amount_usd + line.usd * least($3 + others.lines, line.remaining)) * 1e12)
    / 1e12))::text AS "missingUsd", line.is_proven AS "isProven"
  FROM ledger_holds h JOIN batches b ON b.id = h.id
  CROSS JOIN LATERAL (SELECT ${counted('h.settled_usd', 'h.settled_byok_usd')} AS usd) settled
  CROSS JOIN LATERAL (
    SELECT b.total - coalesce(sum(s.completed + s.failed), 0) AS remaining,
      coalesce(settled.usd / nullif(sum(s.completed), 0), h.amount_usd / greatest(b.total, 1)) AS usd,
      coalesce(sum(s.completed), 0) > 0 AS is_proven
    FROM batch_segments s WHERE s.batch_number = b.number
  ) line
  CROSS JOIN LATERAL (
    SELECT (
      SELECT coalesce(sum((one.value ->> 0)::integer), 0) FROM jsonb_each(coalesce(h.reserved, '{}')) one
      WHERE one.key <> $2 AND ${IS_VALID}
    ) + (
      SELECT coalesce(sum(n.sent_lines), 0) FROM native_batches n
      WHERE n.batch_id = b.id AND n.state IN ('submitting', 'running') AND n.reference <> $2
        AND NOT coalesce(h.reserved, '{}') ? n.reference
    ) AS lines
  ) others
  WHERE h.id = $1`;

interface Price {
  /** What the hold lacks, as an exact decimal in US dollars. */
  readonly missingUsd: string;
  /** Whether a line of the batch was answered. */
  readonly isProven: boolean;
}

/** Returns what the hold lacks for this many lines of this holder; null if it is not open. */
async function lockAndPrice(
  session: Session,
  { batchId, holder, isWhole = false }: LinesToReserve,
  lines: number,
): Promise<Price | null> {
  if (!isWhole) await session.execute(meter(batchId));
  // Locked before it is read, so that results that were being stored are in the sums.
  const locked = await session.execute({
    name: 'batch-funds-lock',
    sql: `SELECT 1 FROM ledger_holds WHERE id = $1 AND state = 'open' FOR UPDATE`,
    values: [batchId],
  });
  if (locked === 0) return null;
  const values = [batchId, holder, lines];
  return session.firstRow<Price>({ name: 'batch-funds-missing', sql: MISSING_SQL, values });
}
