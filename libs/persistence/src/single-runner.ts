import { Injectable } from '@nestjs/common';
import { Database, sqlStateOf, type Session } from './database';

/** Well below the time after which PostgreSQL ends a session that is idle in a transaction. */
const KEEP_ALIVE_MS = 3_000;
/** A run that takes longer loses its lock: it may hang, and another process must get its turn. */
const LONGEST_RUN_MS = 10 * 60_000;
/** Tolerance: processes tick at their own times, and a slightly early turn is not skipped. */
const SLACK = 0.9;

export interface Turn {
  /** No run begins before this time has passed since the end of the last one. */
  readonly everyMs: number;
  /** The lock is released after this time. */
  readonly longestMs?: number;
}

/**
 * Lets only one process at a time run a task, once per interval.
 *
 * The lock is an advisory lock of a transaction that holds no snapshot and writes nothing until the end, when it
 * records the end of the run. So it does not block vacuum, and works through poolers. It ends with its session, which
 * PostgreSQL ends 10 seconds after its process died or stopped answering. A run that lost its lock may overlap with
 * another; tasks must tolerate that.
 */
@Injectable()
export class SingleRunner {
  constructor(private readonly database: Database) {}

  /**
   * Runs `work` unless another process runs it now, or any process ended it less than `everyMs` ago. A run that fails
   * counts as ended.
   * @returns whether it ran here
   * @throws any error of `work`
   */
  async run(
    task: string,
    { everyMs, longestMs = LONGEST_RUN_MS }: Turn,
    work: () => Promise<unknown>,
  ): Promise<boolean> {
    if (!(await isDue(this.database, task, everyMs))) return false;
    return this.database.session(async (session) => {
      await session.client.query('BEGIN');
      try {
        if (!(await tryLock(session, task)) || !(await isDue(session, task, everyMs))) return false;
        await holding(session, { task, longestMs, work });
        return true;
      } finally {
        await session.client.query('COMMIT').catch(() => undefined);
      }
    });
  }
}

/** Keeps the transaction of the lock alive while the work runs, and notes its end. */
async function holding(
  session: Session,
  { task, longestMs, work }: { task: string; longestMs: number; work: () => Promise<unknown> },
): Promise<void> {
  const untilMs = performance.now() + longestMs;
  // A plain query closes the last statement's portal, which would hold a snapshot until then.
  await session.client.query('SELECT 1');
  const timer = setInterval(() => {
    // A lost session has released the lock; the work tolerates a second run.
    if (performance.now() < untilMs) session.client.query('SELECT 1').catch(() => clearInterval(timer));
    else clearInterval(timer);
  }, KEEP_ALIVE_MS);
  timer.unref();
  try {
    await work();
  } finally {
    clearInterval(timer);
    await noteEnd(session, task);
  }
}

async function tryLock(session: Session, task: string): Promise<boolean> {
  const row = await session.firstRow<{ got: boolean }>({
    name: 'task-lock',
    sql: `SELECT pg_try_advisory_xact_lock(hashtextextended('sluice task ' || $1, 0)) AS got`,
    values: [task],
  });
  return row?.got === true;
}

async function isDue(reader: Pick<Session, 'firstRow'>, task: string, everyMs: number): Promise<boolean> {
  const recent = await reader.firstRow({
    name: 'task-is-recent',
    // An end in the future was recorded before the clock was set back, and is ignored.
    sql: `SELECT 1 FROM task_runs WHERE task = $1
            AND ended_at BETWEEN clock_timestamp() - $2 * interval '1 millisecond' AND clock_timestamp()`,
    values: [task, everyMs * SLACK],
  });
  return recent === null;
}

const NOT_ALLOWED = '42501';

/**
 * If the session is lost, the end of a run is not recorded, and the next tick runs it again.
 * @throws the error of PostgreSQL for a task that `app-rights.ts` does not declare, which would run with every tick
 */
async function noteEnd(session: Session, task: string): Promise<void> {
  await session
    .execute({
      name: 'task-ended',
      sql: `INSERT INTO task_runs (task, ended_at) VALUES ($1, clock_timestamp())
            ON CONFLICT (task) DO UPDATE SET ended_at = excluded.ended_at`,
      values: [task],
    })
    .catch((error: unknown) => {
      if (sqlStateOf(error) === NOT_ALLOWED) throw error;
    });
}
