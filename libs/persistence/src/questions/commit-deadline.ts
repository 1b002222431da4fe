import { AsyncLocalStorage } from 'node:async_hooks';
import type { PoolClient } from 'pg';
import { AppError } from '@libs/errors';

/** The deadline of the request that is being handled, by PostgreSQL's clock. */
const deadline = new AsyncLocalStorage<{ readonly untilMs: number } | undefined>();

/** Runs work whose transactions are rolled back unless they are ready to commit before `untilMs`. */
export function beforeDeadline<T>(untilMs: number, work: () => Promise<T>): Promise<T> {
  return deadline.run({ untilMs }, work);
}

/** Runs work that may commit after the deadline, for example a look-up of an unknown commit. */
export function withoutDeadline<T>(work: () => Promise<T>): Promise<T> {
  return deadline.run(undefined, work);
}

/** Returns whether the running work must commit before a deadline. */
export function hasDeadline(): boolean {
  return deadline.getStore() !== undefined;
}

/**
 * Ends a transaction whose requester has given up, just before its COMMIT.
 *
 * Why a pause of this process after the check does no harm: the transaction then holds the locks of its changed rows,
 * and the requester was still waiting. A later change of these rows waits for the locks, so it comes last.
 * @throws AppError timeout
 */
export async function refuseLate(client: PoolClient): Promise<void> {
  const question = deadline.getStore();
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
