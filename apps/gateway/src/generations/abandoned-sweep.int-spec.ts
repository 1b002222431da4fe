import { Logger } from '@nestjs/common';
import { SingleRunner } from '@libs/persistence';
import { anOpening, booksOfSpec } from '@libs/persistence/testing';
import { AbandonedSweep } from './abandoned-sweep';

describe(AbandonedSweep.name, () => {
  const books = booksOfSpec();

  it('gives the other holds back when PostgreSQL refuses to give back one', async () => {
    const { database, generations, ledger } = books;
    const openings = Array.from({ length: 9 }, () => anOpening());
    for (const { organizationId } of openings) await ledger.topUp(organizationId, '10', organizationId);
    await generations.open(openings);
    await database.execute({ sql: `UPDATE generations SET created_at = now() - interval '1 hour'` });
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
    await new AbandonedSweep(generations, logger, new SingleRunner(database)).sweep();
    const left = await database.rows<{ id: string }>({ sql: `SELECT id FROM generations WHERE state = 'open'` });
    expect(left.map(({ id }) => id)).toEqual([stuck.id]);
    expect(JSON.stringify(warnings)).toContain(stuck.id);
  });
});
