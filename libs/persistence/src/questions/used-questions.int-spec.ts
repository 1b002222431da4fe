import { randomUUID } from 'node:crypto';
import { openTestDatabase, type OpenTestDatabase } from '../testing';
import { UsedQuestionsRepository } from './used-questions.repository';

const MINUTE_MS = 60_000;

describe(UsedQuestionsRepository.name, () => {
  let opened: OpenTestDatabase;
  let questions: UsedQuestionsRepository;

  beforeAll(async () => {
    opened = await openTestDatabase();
    questions = new UsedQuestionsRepository(opened.database);
    await opened.database.execute({ sql: 'CREATE TABLE switches (name text PRIMARY KEY, is_on boolean NOT NULL)' });
    await opened.database.execute({ sql: 'GRANT SELECT, UPDATE ON switches TO sluice_tenant' });
  });

  afterAll(() => opened?.close());

  const question = (expiresInMs: number): { asker: 'gateway'; id: string; expiresAtMs: number } => ({
    asker: 'gateway',
    id: randomUUID(),
    expiresAtMs: Date.now() + expiresInMs,
  });

  async function newSwitch(): Promise<string> {
    const name = randomUUID();
    await opened.database.execute({ sql: 'INSERT INTO switches VALUES ($1, false)', values: [name] });
    return name;
  }

  async function isOn(name: string): Promise<boolean | undefined> {
    const sql = 'SELECT is_on AS "isOn" FROM switches WHERE name = $1';
    return (await opened.database.firstRow<{ isOn: boolean }>({ sql, values: [name] }))?.isOn;
  }

  const on = (name: string) => ({ sql: 'UPDATE switches SET is_on = true WHERE name = $1', values: [name] });

  it('lets one of many copies of a question be handled', async () => {
    const asked = question(MINUTE_MS);
    const claims = await Promise.all(Array.from({ length: 8 }, () => questions.claim(asked)));
    expect(claims.toSorted()).toEqual(['first', ...Array.from({ length: 7 }, () => 'repeated')]);
  });

  it('lets no question be handled whose asker has given up', async () => {
    const asked = question(-1_000);
    expect([await questions.claim(asked), await questions.claim(asked)]).toEqual(['late', 'late']);
  });

  it('knows a copy as long as it could be handled, also when the clock of PostgreSQL is set back by half a minute', async () => {
    const asked = question(MINUTE_MS);
    await questions.claim(asked);
    const values = [new Date(asked.expiresAtMs + 30_000)];
    await opened.database.execute({ sql: 'DELETE FROM used_token_ids WHERE expires_at <= $1', values });
    expect(await questions.claim(asked)).toBe('repeated');
  });

  const changes = {
    'by a transaction': (name: string) => opened.database.transaction((session) => session.execute(on(name))),
    'by entities': (name: string) =>
      opened.database.entities((manager) => manager.query(on(name).sql, on(name).values)),
    'by a statement': (name: string) => opened.database.execute(on(name)),
    'by a statement that returns rows': (name: string) =>
      opened.database.rows({ ...on(name), sql: `${on(name).sql} RETURNING 1` }),
    'by a transaction of a tenant': (name: string) =>
      opened.database.asTenant({ organizationId: randomUUID() }).transaction((session) => session.execute(on(name))),
    'by a statement of a tenant': (name: string) =>
      opened.database.asTenant({ organizationId: randomUUID() }).execute(on(name)),
    'by a statement of a tenant that returns rows': (name: string) =>
      opened.database
        .asTenant({ organizationId: randomUUID() })
        .firstRow({ ...on(name), sql: `${on(name).sql} RETURNING 1` }),
  };

  it.each(Object.entries(changes))('takes back a change that is made too late %s', async (_how, change) => {
    const [late, timely] = [await newSwitch(), await newSwitch()];
    await expect(questions.handle(question(-1_000), () => change(late))).rejects.toMatchObject({ code: 'timeout' });
    await questions.handle(question(MINUTE_MS), () => change(timely));
    expect([await isOn(late), await isOn(timely)]).toEqual([false, true]);
  });

  it('takes back a change that waited for a row until its asker had given up', async () => {
    const name = await newSwitch();
    const asked = question(500);
    let change: Promise<number> | undefined;
    await opened.database.transaction(async (session) => {
      await session.execute({ sql: 'SELECT FROM switches WHERE name = $1 FOR UPDATE', values: [name] });
      change = questions.handle(asked, () => opened.database.execute(on(name)));
      change.catch(() => undefined);
      await session.execute({ sql: 'SELECT pg_sleep(0.6)' });
    });
    await expect(change).rejects.toMatchObject({ code: 'timeout' });
    expect(await isOn(name)).toBe(false);
  });

  it('commits what is not done for a question, however late', async () => {
    const name = await newSwitch();
    await opened.database.execute(on(name));
    expect(await isOn(name)).toBe(true);
  });
});
