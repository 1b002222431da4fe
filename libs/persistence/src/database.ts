import { Injectable } from '@nestjs/common';
import type { PoolClient, QueryResultRow } from 'pg';
import { DataSource } from 'typeorm';
import { CopyOut } from './copy-out';
import type { CopyRow } from './copy-row';

/** PostgreSQL says: somebody else was first, the same transaction may be tried again. */
const RETRYABLE_STATES = new Set(['40001', '40P01']);
const MAX_TRANSACTION_ATTEMPTS = 3;

export type SqlValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | Date
  | Buffer
  | readonly (string | number | bigint | boolean | null)[];

export interface SqlStatement {
  readonly sql: string;
  readonly values?: readonly SqlValue[];
  /** Name of a prepared statement; PostgreSQL then plans it once per connection. */
  readonly name?: string;
}

/** One connection, inside or outside a transaction. */
export class Session {
  constructor(readonly client: PoolClient) {}

  async rows<Row extends QueryResultRow>(statement: SqlStatement): Promise<Row[]> {
    const result = await this.client.query<Row>(toQuery(statement));
    return result.rows;
  }

  async firstRow<Row extends QueryResultRow>(statement: SqlStatement): Promise<Row | null> {
    return (await this.rows<Row>(statement))[0] ?? null;
  }

  /** How many rows the statement touched. */
  async execute(statement: SqlStatement): Promise<number> {
    return (await this.client.query(toQuery(statement))).rowCount ?? 0;
  }

  /**
   * Tells the rows of `SELECT …` one by one, in PostgreSQL's binary COPY format: `bytea` arrives as the bytes it is,
   * where a plain query would send it as hex text. COPY takes no parameters, so the text must hold none of a caller's.
   *
   * @param onRow valid during the call, see CopyRow
   */
  async copyEach(select: string, onRow: (row: CopyRow) => void): Promise<void> {
    await this.client.query(new CopyOut(select, onRow)).done;
  }
}

/**
 * SQL for the repositories whose statements are the design: claims, guarded updates, group commits.
 * Connections come from TypeORM's pool, so an app has one pool and one limit.
 */
@Injectable()
export class Database {
  constructor(private readonly dataSource: DataSource) {}

  async session<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const runner = this.dataSource.createQueryRunner();
    try {
      return await work(new Session((await runner.connect()) as PoolClient));
    } finally {
      await runner.release();
    }
  }

  async rows<Row extends QueryResultRow>(statement: SqlStatement): Promise<Row[]> {
    return this.session((session) => session.rows<Row>(statement));
  }

  async firstRow<Row extends QueryResultRow>(statement: SqlStatement): Promise<Row | null> {
    return this.session((session) => session.firstRow<Row>(statement));
  }

  async execute(statement: SqlStatement): Promise<number> {
    return this.session((session) => session.execute(statement));
  }

  /** Runs the work in one transaction; a serialization failure or deadlock runs it again, at most three times. */
  async transaction<T>(work: (session: Session) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.session((session) => inTransaction(session, work));
      } catch (error) {
        if (attempt >= MAX_TRANSACTION_ATTEMPTS || !RETRYABLE_STATES.has(sqlStateOf(error) ?? '')) throw error;
      }
    }
  }

  /** True when PostgreSQL answers. */
  async ping(): Promise<boolean> {
    await this.execute({ sql: 'SELECT 1' });
    return true;
  }
}

async function inTransaction<T>(session: Session, work: (session: Session) => Promise<T>): Promise<T> {
  await session.client.query('BEGIN');
  try {
    const result = await work(session);
    await session.client.query('COMMIT');
    return result;
  } catch (error) {
    // A connection that cannot even roll back is broken; the pool finds that out by itself.
    await session.client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

/** The five-character SQLSTATE of a PostgreSQL error, or null for any other error. */
export function sqlStateOf(error: unknown): string | null {
  if (typeof error !== 'object' || error === null) return null;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : null;
}

function toQuery(statement: SqlStatement): { text: string; values: unknown[]; name?: string } {
  const values = (statement.values ?? []).map((value) => (typeof value === 'bigint' ? value.toString() : value));
  return { text: statement.sql, values, ...(statement.name !== undefined && { name: statement.name }) };
}
