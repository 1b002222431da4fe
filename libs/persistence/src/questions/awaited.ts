import { AsyncLocalStorage } from 'node:async_hooks';
import type { PoolClient } from 'pg';
import { AppError } from '@libs/errors';

/** Until when the asker of the question that is being handled waits; by the clock of PostgreSQL. */
const awaited = new AsyncLocalStorage<{ readonly untilMs: number } | undefined>();

/** Runs work whose transactions are rolled back unless they are ready to commit before `untilMs`. */
export function whileAwaited<T>(untilMs: number, work: () => Promise<T>): Promise<T> {
  return awaited.run({ untilMs }, work);
}

/** Runs work that may commit whether or not somebody waits for it. */
export function awaitedByNobody<T>(work: () => Promise<T>): Promise<T> {
  return awaited.run(undefined, work);
}

/** Whether what runs here must not be committed late. */
export function isAwaited(): boolean {
  return awaited.getStore() !== undefined;
}

/**
 * Ends a transaction whose asker has given up, just before its COMMIT.
 *
 * Why a stop of this process after the check does no harm: by then the transaction holds the locks of the rows that it
 * changed, and its asker still waited. A later change of these rows waits for the locks, so it is the last one.
 *
 * @throws AppError timeout
 */
export async function refuseLate(client: PoolClient): Promise<void> {
  const question = awaited.getStore();
  if (question === undefined) return;
  const { rows } = await client.query<{ isAwaited: boolean }>({
    name: 'is-awaited',
    text: `SELECT clock_timestamp() < to_timestamp($1::float8 / 1000) AS "isAwaited"`,
    values: [question.untilMs],
  });
  if (rows[0]?.isAwaited === true) return;
  throw new AppError('timeout', 'The request took too long; nothing was changed', {
    internal: 'the asker had given up before the change could be committed, so it was rolled back',
  });
}
