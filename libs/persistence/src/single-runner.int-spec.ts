import { createDataSource } from './data-source';
import { Database } from './database';
import { SingleRunner } from './single-runner';
import { createTestDatabase, type TestDatabase } from './testing';

const HOUR = { everyMs: 3_600_000 };

describe(SingleRunner.name, () => {
  let created: TestDatabase;
  let databases: Database[];
  let close: (() => Promise<void>)[];

  beforeEach(async () => {
    created = await createTestDatabase();
    databases = [];
    close = [];
  });

  afterEach(async () => {
    await Promise.all(close.map((one) => one()));
    await created.drop();
  });

  /** A process with connections of its own. */
  async function process(): Promise<SingleRunner> {
    const dataSource = await createDataSource({ url: created.url, poolSize: 2 }).initialize();
    close.push(() => dataSource.destroy());
    const database = new Database(dataSource);
    databases.push(database);
    return new SingleRunner(database);
  }

  it('has ten processes run a task once per interval', async () => {
    const runners = await Promise.all(Array.from({ length: 10 }, process));
    let runs = 0;
    const work = async (): Promise<void> => void (runs += 1);
    for (let tick = 0; tick < 3; tick += 1) {
      await Promise.all(runners.map((runner) => runner.run('tidy', HOUR, work)));
    }
    expect(runs).toBe(1);
  });

  it('runs a task again once its interval is over, and other tasks meanwhile', async () => {
    const runner = await process();
    expect(await runner.run('tidy', HOUR, async () => undefined)).toBe(true);
    expect(await runner.run('tidy', HOUR, async () => undefined)).toBe(false);
    expect(await runner.run('tidy', { everyMs: 0 }, async () => undefined)).toBe(true);
    expect(await runner.run('sweep', HOUR, async () => undefined)).toBe(true);
  });

  it('runs a task again after the clock of PostgreSQL was set back', async () => {
    const runner = await process();
    expect(await runner.run('tidy', HOUR, async () => undefined)).toBe(true);
    await databases[0]!.execute({ sql: `UPDATE task_runs SET ended_at = ended_at + interval '1 hour'` });
    expect(await runner.run('tidy', HOUR, async () => undefined)).toBe(true);
    expect(await runner.run('tidy', HOUR, async () => undefined)).toBe(false);
  });

  it('does not run beside another process, and leaves the pool to the work', async () => {
    const [one, other] = [await process(), await process()];
    const isOthers = await new Promise<boolean>((resolve) => {
      void one.run('tidy', HOUR, async () => {
        await databases[0]!.ping();
        resolve(await other.run('tidy', HOUR, async () => undefined));
      });
    });
    expect(isOthers).toBe(false);
  });

  it('takes over at once when the session of the holder is gone', async () => {
    const [dying, heir] = [await process(), await process()];
    const hung = Promise.withResolvers<void>();
    const began = Promise.withResolvers<void>();
    const dead = dying.run('tidy', HOUR, () => {
      began.resolve();
      return hung.promise;
    });
    await began.promise;
    expect(await heir.run('tidy', HOUR, async () => undefined)).toBe(false);
    // pg_terminate_backend returns before the session is gone, pg_locks says when.
    await databases[1]!.execute({
      sql: `SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE locktype = 'advisory'
              AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    });
    expect(await heir.run('tidy', HOUR, async () => undefined)).toBe(true);
    hung.resolve();
    await dead;
  });

  it('takes over from a holder that hangs too long', async () => {
    const [hanging, heir] = [await process(), await process()];
    const hung = Promise.withResolvers<void>();
    const began = Promise.withResolvers<void>();
    // What a process that is stopped would do: nothing more on the session of its lock.
    const stuck = hanging.run('tidy', { ...HOUR, longestMs: 0 }, () => {
      began.resolve();
      return hung.promise;
    });
    await began.promise;
    const deadlineMs = performance.now() + 25_000;
    let isTaken = false;
    while (!isTaken && performance.now() < deadlineMs) {
      isTaken = await heir.run('tidy', HOUR, async () => undefined);
    }
    expect(isTaken).toBe(true);
    hung.resolve();
    await stuck;
  }, 40_000);

  it('counts a run that failed as a run, and says what failed', async () => {
    const runner = await process();
    await expect(runner.run('tidy', HOUR, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(await runner.run('tidy', HOUR, async () => undefined)).toBe(false);
  });

  it('keeps no row from vacuum while it runs', async () => {
    const runner = await process();
    let horizon: { xmin: string | null; xid: string | null } | null = null;
    await runner.run('tidy', HOUR, async () => {
      horizon = await databases[0]!.firstRow({
        sql: `SELECT backend_xmin::text AS xmin, backend_xid::text AS xid FROM pg_stat_activity
              WHERE datname = current_database() AND state = 'idle in transaction'`,
      });
    });
    expect(horizon).toEqual({ xmin: null, xid: null });
  });
});
