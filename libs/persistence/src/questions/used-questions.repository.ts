import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Database } from '../database';
import { whileAwaited } from './awaited';

interface Question {
  readonly asker: string;
  readonly id: string;
  /** When its asker gives up, by the clock of PostgreSQL. */
  readonly expiresAtMs: number;
}

interface ClaimRow {
  readonly isAwaited: boolean;
  readonly isClaimed: boolean;
}

/** So far may the clock of PostgreSQL be set back before a copy of a question could be taken for the first. */
const KEPT_FOR_MS = 60_000;

/**
 * Questions of which a second copy must not be handled, in the table of the token ids that are good for one use. One
 * statement decides, so of many copies at once, in many processes, one wins. It decides by one clock: whoever may
 * still claim a question finds the claim of it, because claims are deleted by that clock too.
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

  /** Handles a question: what is not ready to commit before its asker gives up is rolled back. */
  async handle<T>({ expiresAtMs }: Question, work: () => Promise<T>): Promise<T> {
    return whileAwaited(expiresAtMs, work);
  }
}
