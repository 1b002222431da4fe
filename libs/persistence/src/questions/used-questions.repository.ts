import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Database } from '../database';
import { beforeDeadline } from './commit-deadline';

interface Question {
  readonly asker: string;
  readonly id: string;
  /** When the requester gives up, by PostgreSQL's clock. */
  readonly expiresAtMs: number;
}

interface ClaimRow {
  readonly isAwaited: boolean;
  readonly isClaimed: boolean;
}

/** Claims are kept this long after the deadline, in case PostgreSQL's clock is set back. */
const KEPT_FOR_MS = 60_000;

/**
 * Claims requests that must be handled at most once, in the table of single-use token ids. One statement decides, so
 * one of many copies wins, in any process. Claims and their deletion use the same clock, so a claim exists for as long
 * as a copy of its request could be accepted.
 */
@Injectable()
export class UsedQuestionsRepository {
  constructor(private readonly database: Database) {}

  async nowMs(): Promise<number> {
    const sql = 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS "nowMs"';
    const row = await this.database.firstRow<{ nowMs: number }>({ name: 'read-clock', sql });
    return row!.nowMs;
  }

  /** Returns `late` when the asker has given up, `repeated` for a question that was claimed before. */
  async claim({ asker, id, expiresAtMs }: Question): Promise<'first' | 'repeated' | 'late'> {
    const row = await this.database.firstRow<ClaimRow>({
      name: 'claim-question',
      sql: `
        WITH question AS MATERIALIZED (SELECT clock_timestamp() < to_timestamp($2::float8 / 1000) AS "isAwaited"),
             claimed AS (
               INSERT INTO used_token_ids (hash, expires_at)
               SELECT $1, to_timestamp($3::float8 / 1000) FROM question WHERE "isAwaited"
               ON CONFLICT (hash) DO NOTHING RETURNING 1)
        SELECT "isAwaited", EXISTS (SELECT FROM claimed) AS "isClaimed" FROM question`,
      values: [hash('sha256', JSON.stringify(['question', asker, id]), 'hex'), expiresAtMs, expiresAtMs + KEPT_FOR_MS],
    });
    if (row?.isAwaited !== true) return 'late';
    return row.isClaimed ? 'first' : 'repeated';
  }

  /** Handles a request; work that is not ready to commit before the requester gives up is rolled back. */
  async handle<T>({ expiresAtMs }: Question, work: () => Promise<T>): Promise<T> {
    return beforeDeadline(expiresAtMs, work);
  }
}
