import { Injectable } from '@nestjs/common';
import { Database, type Session } from '../database';
import type { BatchStatus } from './batch-status';
import { problemsOf, type BatchFigures, type BatchProblem, type BatchProblemKind } from './batch-figures';
import { FIGURES_SQL, PLAN } from './batch-figures-sql';
import { ORPHAN_CHARGES_SQL, orphansSql } from './batch-orphans-sql';

/** A batch whose rows disagree. */
export interface BatchFinding {
  /** Null for rows without a batch. */
  readonly id: string | null;
  /** Null for charges without a batch. */
  readonly number: string | null;
  readonly status: BatchStatus | null;
  readonly problems: readonly BatchProblem[];
}

/** The findings in some batches. */
export interface BatchCheckPage {
  readonly checked: number;
  readonly findings: readonly BatchFinding[];
}

/** The number and id of a batch are assigned when its upload begins, which may be this long before it was accepted. */
const LONGEST_UPLOAD_DAYS = 2;
const LONGEST_UPLOAD = `interval '${LONGEST_UPLOAD_DAYS} days'`;

/** Compares the stored data of batches: lines, results, counts, charges, segments and holds. */
@Injectable()
export class BatchChecksRepository {
  constructor(private readonly database: Database) {}

  /**
   * Checks all batches in the order of their numbers, a page at a time; no page is kept. A batch is read in one
   * snapshot, so a running one is checked correctly.
   * @param since only batches that were accepted at or after this time
   */
  async *check(since: Date = new Date(0)): AsyncGenerator<BatchCheckPage> {
    const first = await this.numberBefore(since);
    let after = first;
    for (;;) {
      const page = await this.figuresAfter(after, since);
      if (page.length === 0) break;
      after = page.at(-1)!.number;
      yield { checked: page.length, findings: page.map(toFinding).filter(({ problems }) => problems.length > 0) };
    }
    yield { checked: 0, findings: await this.orphans(first, since) };
  }

  private async figuresAfter(number: string, since: Date): Promise<BatchFigures[]> {
    return this.reading((session) => session.rows<BatchFigures>({ sql: FIGURES_SQL, values: [number, since] }));
  }

  /** Numbers increase with time, so old batches are skipped without being read. */
  private async numberBefore(since: Date): Promise<string> {
    const row = await this.database.firstRow<{ number: string }>({
      sql: `SELECT number FROM batches WHERE created_on < ($1::timestamptz - ${LONGEST_UPLOAD})::date
            ORDER BY number DESC LIMIT 1`,
      values: [since],
    });
    return row?.number ?? '0';
  }

  /** Finds rows without a batch, by batch number; charges by batch id. */
  private async orphans(after: string, since: Date): Promise<BatchFinding[]> {
    return this.reading(async (session) => {
      const byNumber = new Map<string, BatchProblem[]>();
      for (const kind of ['lines', 'results', 'segments'] as const) {
        // Segments of any age are checked, because there are few of them.
        const values = [kind === 'segments' ? '0' : after];
        for (const row of await session.rows<{ number: string; count: number }>({ sql: orphansSql(kind), values })) {
          byNumber.set(row.number, [...(byNumber.get(row.number) ?? []), orphanProblem(kind, row.count)]);
        }
      }
      const seconds = Math.max(0, Math.floor(since.getTime() / 1_000) - LONGEST_UPLOAD_DAYS * 86_400);
      const charges = await session.rows<{ id: string; count: number }>({ sql: ORPHAN_CHARGES_SQL, values: [seconds] });
      return [
        ...[...byNumber].map(([number, problems]) => ({ id: null, number, status: null, problems })),
        ...charges.map(({ id, count }) => {
          const problem = orphanProblem('charges', count, `: its id begins with ${id}`);
          return { id: null, number: null, status: null, problems: [problem] };
        }),
      ];
    });
  }

  private async reading<T>(work: (session: Session) => Promise<T>): Promise<T> {
    return this.database.transaction(async (session) => {
      await session.mayTake(1_800);
      await session.client.query(PLAN);
      return work(session);
    });
  }
}

function orphanProblem(kind: BatchProblemKind, count: number, more = ''): BatchProblem {
  return { kind, message: `${count} ${kind} of a batch that is not there${more}` };
}

function toFinding(figures: BatchFigures): BatchFinding {
  return { id: figures.id, number: figures.number, status: figures.status, problems: problemsOf(figures) };
}
