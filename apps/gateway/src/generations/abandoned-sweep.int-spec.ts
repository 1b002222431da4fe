import { Logger, type LoggerService } from '@nestjs/common';
import { anOpening, booksOfSpec } from '@libs/persistence/testing';
import type { TaskRunner } from '@libs/platform';
import { AbandonedSweep } from './abandoned-sweep';

/** Instead of the turns that the gateways of an installation take. */
const atOnce: TaskRunner = { run: (_task, _turn, work) => work() };
const silent = { log() {}, warn() {}, error() {} };

describe(AbandonedSweep.name, () => {
  const books = booksOfSpec();

  const ranFor = (time: string): Promise<number> =>
    books.database.execute({ sql: `UPDATE generations SET created_at = now() - interval '${time}'` });
  const stillOpen = async (): Promise<string[]> => {
    const rows = await books.database.rows<{ id: string }>({ sql: `SELECT id FROM generations WHERE state = 'open'` });
    return rows.map(({ id }) => id);
  };
  const sweep = (logger: LoggerService): Promise<void> => new AbandonedSweep(books.generations, logger, atOnce).sweep();

  it('gives the holds of others back while the account of a hundred calls is locked', async () => {
    const { database, generations, ledger } = books;
    const other = anOpening();
    const { organizationId } = anOpening();
    const locked = Array.from({ length: 100 }, () => anOpening({ organizationId, holdUsd: '0.01' }));
    for (const id of [organizationId, other.organizationId]) await ledger.topUp(id, '10', id);
    await generations.open([...locked, other]);
    await ranFor('1 hour');
    await database.session(async ({ client }) => {
      await client.query('BEGIN');
      await client.query('SET LOCAL idle_in_transaction_session_timeout = 0');
      await client.query('SELECT 1 FROM ledger_accounts WHERE id = $1 FOR UPDATE', [`org:${organizationId}`]);
      await sweep(silent);
      await client.query('ROLLBACK');
    });
    expect((await stillOpen()).toSorted()).toEqual(locked.map(({ id }) => id).toSorted());
    await sweep(silent);
    expect(await stillOpen()).toEqual([]);
  });

  it('gives the other holds back when PostgreSQL refuses to give back one', async () => {
    const { database, generations, ledger } = books;
    const openings = Array.from({ length: 9 }, () => anOpening());
    for (const { organizationId } of openings) await ledger.topUp(organizationId, '10', organizationId);
    await generations.open(openings);
    await ranFor('1 hour');
    const stuck = openings[4]!;
    await database.execute({
      sql: `CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN IF NEW.id = '${stuck.id}' THEN RAISE EXCEPTION 'poison'; END IF; RETURN NEW; END $$`,
    });
    await database.execute({
      sql: 'CREATE TRIGGER poison BEFORE UPDATE ON generations FOR EACH ROW EXECUTE FUNCTION poison()',
    });
    const warnings: unknown[] = [];
    const logger = { log() {}, error() {}, warn: (...args: unknown[]) => warnings.push(args) };
    Logger.overrideLogger(logger);
    await sweep(logger);
    expect(await stillOpen()).toEqual([stuck.id]);
    expect(JSON.stringify(warnings)).toContain(stuck.id);
  });
});
