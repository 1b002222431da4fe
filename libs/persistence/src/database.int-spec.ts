import { Database } from './database';
import { openTestDatabase, type OpenTestDatabase } from './testing';

describe(Database.name, () => {
  let opened: OpenTestDatabase;

  beforeAll(async () => {
    opened = await openTestDatabase();
    await opened.database.execute({ sql: 'CREATE TABLE things (id integer PRIMARY KEY, touched integer DEFAULT 0)' });
    await opened.database.execute({ sql: 'INSERT INTO things (id) SELECT generate_series(1, 2)' });
  });
  afterAll(() => opened.close());

  const touch = (id: number): string => `UPDATE things SET touched = touched + 1 WHERE id = ${id}`;

  async function waiting(count: number): Promise<void> {
    const sql = `SELECT count(*)::integer AS n FROM pg_stat_activity
                 WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    for (let looks = 0; looks < 500; looks += 1) {
      const row = await opened.database.firstRow<{ n: number }>({ sql });
      if (row?.n === count) return;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    throw new Error(`never ${count} waited for a lock`);
  }

  it('runs a lone statement again that a deadlock ended, and has done it once', async () => {
    const { database } = opened;
    // The statement takes the second row and then wants the first, which the transaction has; who waits longest is
    // the one that PostgreSQL ends.
    const bothBackwards = `
      UPDATE things t SET touched = touched + 1
      FROM (SELECT id FROM things ORDER BY id DESC FOR UPDATE) both_of_them WHERE t.id = both_of_them.id`;
    let alone: Promise<number> | undefined;
    await database.transaction(async (session) => {
      await session.execute({ sql: touch(1) });
      alone ??= database.execute({ sql: bothBackwards });
      await waiting(1);
      await session.execute({ sql: touch(2) });
    });
    expect(await alone).toBe(2);
    expect(await database.rows({ sql: 'SELECT id, touched FROM things ORDER BY id' })).toEqual([
      { id: 1, touched: 2 },
      { id: 2, touched: 2 },
    ]);
  });
});
