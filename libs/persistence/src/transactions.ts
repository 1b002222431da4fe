import type { PoolClient } from 'pg';
import type { DataSource, EntityManager } from 'typeorm';
import { AppError } from '@libs/errors';
import { refuseLate } from './questions/commit-deadline';
import { sqlStateOf } from './session';
import { expectUsual } from './silence';

/** SQLSTATEs of a conflict with another transaction: the same transaction may be tried again. */
const RETRYABLE_STATES = new Set(['40001', '40P01']);
const MAX_TRANSACTION_ATTEMPTS = 3;
const RETRY_AFTER_SECONDS = 5;

/**
 * States with which a session ends, or a pooler reports that it lost the server: connection errors, "completion
 * unknown", shutdowns and crashes, I/O and internal errors. Every other state at COMMIT means that PostgreSQL has
 * rolled back.
 */
const UNDECIDED_STATES = /^(?:08|40003|57P0|25P0[34]|58|XX)/;

/**
 * COMMIT was sent and PostgreSQL did not answer, or ended the session: the transaction may or may not have happened.
 * Look its rows up by id before anything is removed, refused or repeated.
 */
export class CommitUnknown extends AppError {
  constructor(cause: unknown) {
    const why = cause instanceof Error ? cause.message : 'unknown error';
    super('unavailable', 'It is not known whether this was done: look before you repeat it', {
      cause,
      internal: `it is not known whether the transaction was committed: ${why}`,
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    });
  }
}

/** Runs a transaction, and again after a serialization failure or a deadlock; three times at most. */
export async function retried<T>(transaction: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await transaction();
    } catch (error) {
      if (attempt >= MAX_TRANSACTION_ATTEMPTS || !RETRYABLE_STATES.has(sqlStateOf(error) ?? '')) throw error;
    }
  }
}

/**
 * Runs the work once between `begin` and COMMIT, on a separate connection.
 * @throws CommitUnknown if COMMIT got no answer; after any other error nothing was done
 */
export async function inTransaction<T>(
  dataSource: DataSource,
  begin: (client: PoolClient) => Promise<unknown>,
  work: (client: PoolClient, manager: EntityManager) => Promise<T>,
): Promise<T> {
  const runner = dataSource.createQueryRunner();
  try {
    const client = (await runner.connect()) as PoolClient;
    // TypeORM would begin it in a separate round trip, and locks rows only if it knows of a transaction.
    await begin(client);
    Object.assign(runner, { isTransactionActive: true });
    try {
      const result = await work(client, runner.manager);
      await refuseLate(client);
      await commit(client);
      return result;
    } catch (error) {
      // A connection that cannot even roll back is broken; the pool notices that by itself.
      await client.query('ROLLBACK').catch(() => undefined);
      throw error;
    } finally {
      Object.assign(runner, { isTransactionActive: false });
      expectUsual(client);
    }
  } finally {
    await runner.release();
  }
}

async function commit(client: PoolClient): Promise<void> {
  const { command } = await client.query('COMMIT').catch((error: unknown) => {
    throw isRefusal(error) ? error : new CommitUnknown(error);
  });
  // A statement failed and the work continued: PostgreSQL answers such a COMMIT with ROLLBACK, not with an error.
  if (command !== 'COMMIT') throw new Error('a failed transaction was committed, so PostgreSQL rolled it back');
}

function isRefusal(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state !== null && !UNDECIDED_STATES.test(state);
}
