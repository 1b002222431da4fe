import { setTimeout as delay } from 'node:timers/promises';
import { withoutDeadline } from './questions/commit-deadline';
import type { Session } from './session';
import { CommitUnknown } from './transactions';

/** How to find out whether a transaction was committed if the answer to its COMMIT is lost. */
export interface Outcome {
  /** Identifies the transaction. The lookup waits until the transaction with this id is over. */
  readonly id: string;
  /** Returns true if the rows exist that the transaction creates. Runs with the same visibility as the transaction. */
  readonly happened: (session: Session) => Promise<boolean>;
}

type Transact<S> = <R>(work: (session: S) => Promise<R>) => Promise<R>;

/** Longer than a session with a lost connection can stay in its transaction (`idle_in_transaction_session_timeout`). */
const LOOK_FOR_MS = 15_000;
const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 1_000;

/** Returns the outcome of a transaction that creates one row with a known unique column. */
export function outcomeOfRow(table: string, column: string, id: string): Outcome {
  return {
    id: `${table} ${id}`,
    happened: async (session) =>
      (await session.firstRow({ sql: `SELECT 1 FROM ${table} WHERE ${column} = $1`, values: [id] })) !== null,
  };
}

/**
 * Runs the work in a transaction. With an `outcome`, looks up after an unanswered COMMIT whether it happened, and then
 * returns the result of the work. If it did not happen, throws the cause.
 *
 * Why "the row does not exist" is a reliable answer: both transactions take the same advisory lock, and PostgreSQL
 * releases it only after the commit is visible. So the lookup begins when the first transaction is over, whatever
 * happened to its connection.
 * @throws CommitUnknown without an `outcome`, or if PostgreSQL could not be asked within `lookForMs`
 */
export async function withOutcome<T, S extends Session>(
  transact: Transact<S>,
  work: (session: S) => Promise<T>,
  outcome: Outcome | undefined,
  lookForMs = LOOK_FOR_MS,
): Promise<T> {
  if (outcome === undefined) return transact(work);
  let done: { readonly result: T } | null = null;
  try {
    return await transact(async (session) => {
      await takeTurn(session, outcome);
      done = { result: await work(session) };
      return done.result;
    });
  } catch (error) {
    if (!(error instanceof CommitUnknown) || done === null) throw error;
    const isDone = await withoutDeadline(() => hasHappened(transact, outcome, error, lookForMs));
    if (isDone) return (done as { readonly result: T }).result;
    throw error.cause;
  }
}

async function hasHappened<S extends Session>(
  transact: Transact<S>,
  outcome: Outcome,
  unknown: CommitUnknown,
  lookForMs: number,
): Promise<boolean> {
  const untilMs = performance.now() + lookForMs;
  for (let delayMs = FIRST_DELAY_MS; ; delayMs = Math.min(LONGEST_DELAY_MS, delayMs * 2)) {
    try {
      return await transact(async (session) => {
        await takeTurn(session, outcome);
        return outcome.happened(session);
      });
    } catch {
      // An error of the lookup says nothing about the transaction.
      if (performance.now() + delayMs >= untilMs) throw unknown;
    }
    await delay(delayMs * (0.5 + Math.random() / 2));
  }
}

async function takeTurn(session: Session, { id }: Outcome): Promise<void> {
  await session.execute({
    name: 'take-outcome',
    sql: `SELECT pg_advisory_xact_lock(hashtextextended('outcome of ' || $1, 0))`,
    values: [id],
  });
}
