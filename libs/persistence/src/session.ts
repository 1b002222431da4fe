import type { PoolClient, QueryResultRow } from 'pg';
import type { EntityManager } from 'typeorm';
import { CopyOut } from './copy-out';
import type { CopyRow } from './copy-row';
import { expectWithin } from './silence';

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

  /** Lets statements of this transaction take this long; the normal limit is a few seconds. */
  async mayTake(seconds: number): Promise<void> {
    expectWithin(this.client, seconds * 1_000);
    await this.client.query(`SET LOCAL statement_timeout = '${seconds}s'`);
  }

  /** Lets statements of this transaction wait this long for each lock; the normal limit is two seconds. */
  async mayWaitForLocks(ms: number): Promise<void> {
    await this.client.query(`SET LOCAL lock_timeout = '${ms}ms'`);
  }

  /**
   * Calls `onRow` for each row of `SELECT …`, in PostgreSQL's binary COPY format: `bytea` arrives as bytes, where a
   * plain query would send hex text. COPY takes no parameters, so the text must not contain any input of callers.
   * @param onRow its row is valid only during the call, see CopyRow
   */
  async copyEach(select: string, onRow: (row: CopyRow) => void): Promise<void> {
    await this.client.query(new CopyOut(select, onRow)).done;
  }
}

/** A transaction that repositories with entities can also use. */
export class EntitySession extends Session {
  constructor(
    client: PoolClient,
    readonly manager: EntityManager,
  ) {
    super(client);
  }
}

/** Returns the five-character SQLSTATE of a PostgreSQL error, or null for any other error. */
export function sqlStateOf(error: unknown): string | null {
  if (typeof error !== 'object' || error === null) return null;
  const { code } = error as { code?: unknown };
  // Five letters that begin with E are an error of the operating system, such as EPIPE.
  return typeof code === 'string' && /^(?!E[A-Z]{4}$)[0-9A-Z]{5}$/.test(code) ? code : null;
}

/** Returns the statement in the driver's form. */
export function toQuery(statement: SqlStatement): { text: string; values: unknown[]; name?: string } {
  const values = (statement.values ?? []).map((value) => (typeof value === 'bigint' ? value.toString() : value));
  return { text: statement.sql, values, ...(statement.name !== undefined && { name: statement.name }) };
}
