import { Injectable } from '@nestjs/common';
import { Database } from '../database';
import type { BatchStatus } from './batch.entity';
import { problemsOf, type BatchFigures, type BatchProblem } from './batch-figures';
import { RETENTION_DAYS } from './batch-views.repository';

/** A batch whose rows disagree. */
export interface BatchFinding {
  /** Null for rows of a batch that is not there. */
  readonly id: string | null;
  readonly number: string;
  readonly status: BatchStatus | null;
  readonly problems: readonly BatchProblem[];
}

/** What was found in some batches. */
export interface BatchCheckPage {
  readonly checked: number;
  readonly findings: readonly BatchFinding[];
}

/** Lines of a batch may be half a million: so many batches are read in one statement. */
const PAGE_BATCHES = 20;
const MOST_ORPHANS = 1_000;
/** The number of a batch is given out when its upload begins, which may be this long before it was accepted. */
const LONGEST_UPLOAD = `interval '2 days'`;

// Each part is read by the index of its table; joins of other kinds would read tables of all batches.
const PLAN = `SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL enable_seqscan = off`;

const FIGURES_SQL = `
  SELECT b.id, b.number, b.status, b.total, b.completed, b.failed, b.ends_as AS "endsAs",
    (b.usage->>'cost')::float8 AS "usageCost",
    b.deleted_at IS NOT NULL OR b.created_at <= now() - interval '${RETENTION_DAYS} days' AS "isEmptied",
    l.lines, l.first AS "firstSeq", l.last AS "lastSeq",
    r.answered, r.refused, r.cost::text AS "resultsUsd", r.mischarged,
    s.segments, s.lines AS "segmentLines", s.results AS "segmentResults",
    h.state AS "holdState", coalesce(h.settled_usd, 0)::text AS "settledUsd",
    coalesce(h.settled_usd, 0) = r.cost AS "isSettledAsResults"
  FROM (
    SELECT * FROM batches WHERE number > $1 AND status <> 'receiving' AND created_at >= $2
    ORDER BY number LIMIT ${PAGE_BATCHES}
  ) b
  LEFT JOIN ledger_holds h ON h.id = b.id
  CROSS JOIN LATERAL (
    SELECT count(*)::integer AS lines, min(seq) AS first, max(seq) AS last
    FROM batch_lines WHERE created_on = b.created_on AND batch_number = b.number
  ) l
  CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE r.error IS NULL)::integer AS answered,
      count(*) FILTER (WHERE r.error IS NOT NULL)::integer AS refused, coalesce(sum(r.cost_usd), 0) AS cost,
      count(*) FILTER (WHERE r.cost_usd <> coalesce(t.amount_usd, 0))::integer AS mischarged
    FROM batch_results r LEFT JOIN ledger_transfers t ON t.reference = r.generation_id AND t.kind = 'charge'
    WHERE r.created_on = b.created_on AND r.batch_number = b.number
  ) r
  CROSS JOIN LATERAL (
    SELECT count(*)::integer AS segments, coalesce(sum(last_seq - first_seq + 1), 0)::integer AS lines,
      coalesce(sum(completed + failed), 0)::integer AS results
    FROM batch_segments WHERE batch_number = b.number
  ) s
  ORDER BY b.number`;

/** Compares what is stored of batches with itself: lines, results, counts, charges, segments and holds. */
@Injectable()
export class BatchChecksRepository {
  constructor(private readonly database: Database) {}

  /**
   * Checks all batches in the order of their numbers, a page at a time; no page is kept. A batch is read in one
   * snapshot, so one that is running is judged fairly.
   *
   * @param since only batches that were accepted from then on
   */
  async *check(since: Date = new Date(0)): AsyncGenerator<BatchCheckPage> {
    let after = await this.numberBefore(since);
    for (;;) {
      const page = await this.figuresAfter(after, since);
      if (page.length === 0) break;
      after = page.at(-1)!.number;
      yield { checked: page.length, findings: page.map(toFinding).filter(({ problems }) => problems.length > 0) };
    }
    yield { checked: 0, findings: await this.orphans() };
  }

  private async figuresAfter(number: string, since: Date): Promise<BatchFigures[]> {
    return this.database.transaction(async (session) => {
      await session.mayTake(1_800);
      await session.client.query(PLAN);
      return session.rows<BatchFigures>({ sql: FIGURES_SQL, values: [number, since] });
    });
  }

  /** Numbers rise with time, so batches that are too old are passed by without being read. */
  private async numberBefore(since: Date): Promise<string> {
    const row = await this.database.firstRow<{ number: string }>({
      sql: `SELECT number FROM batches WHERE created_on < ($1::timestamptz - ${LONGEST_UPLOAD})::date
            ORDER BY number DESC LIMIT 1`,
      values: [since],
    });
    return row?.number ?? '0';
  }

  /** Segments without a batch; workers look at them. */
  private async orphans(): Promise<BatchFinding[]> {
    const rows = await this.database.rows<{ number: string; segments: number }>({
      sql: `SELECT batch_number AS number, count(*)::integer AS segments FROM batch_segments s
            WHERE NOT EXISTS (SELECT 1 FROM batches b WHERE b.number = s.batch_number)
            GROUP BY batch_number ORDER BY batch_number LIMIT ${MOST_ORPHANS}`,
    });
    return rows.map(({ number, segments }) => ({
      id: null,
      number,
      status: null,
      problems: [{ kind: 'segments', message: `${segments} segments of a batch that is not there` }],
    }));
  }
}

function toFinding(figures: BatchFigures): BatchFinding {
  return { id: figures.id, number: figures.number, status: figures.status, problems: problemsOf(figures) };
}
