import { GenerationsRepository, LedgerRepository } from '@libs/persistence';
import { anOpening, aSettlement, openTestDatabase, type OpenTestDatabase } from '@libs/persistence/testing';
import { SettlementQueue } from './settlement-queue';

const CALLS = 60;
const PATIENCE_MS = 60_000;
const logger = { log: () => undefined, warn: () => undefined, error: () => undefined };

describe(SettlementQueue.name, () => {
  let opened: OpenTestDatabase;
  let queue: SettlementQueue;

  beforeEach(async () => {
    opened = await openTestDatabase();
    queue = new SettlementQueue(new GenerationsRepository(opened.database), logger);
  });

  afterEach(() => opened.close());

  async function charges(): Promise<number> {
    const sql = `SELECT count(*)::integer AS n FROM ledger_transfers WHERE kind = 'charge'`;
    return (await opened.database.firstRow<{ n: number }>({ sql }))!.n;
  }

  async function untilCharged(count: number): Promise<void> {
    const endMs = performance.now() + PATIENCE_MS;
    while ((await charges()) < count && performance.now() < endMs) await new Promise((go) => setTimeout(go, 50));
    expect(await charges()).toBe(count);
  }

  it('commits all charges but the one that PostgreSQL takes too long for, and that one once it can', async () => {
    const slow = anOpening();
    await opened.database.execute({
      sql: `CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
              IF NEW.reference = '${slow.id}' THEN RAISE EXCEPTION USING ERRCODE = 'query_canceled'; END IF;
              RETURN NEW; END $$`,
    });
    await opened.database.execute({
      sql: 'CREATE TRIGGER slow BEFORE INSERT ON ledger_transfers FOR EACH ROW EXECUTE FUNCTION slow()',
    });
    queue.add(aSettlement(slow, '0.01'));
    for (let call = 0; call < CALLS; call += 1) queue.add(aSettlement(anOpening(), '0.01'));
    await untilCharged(CALLS);
    expect(queue.size).toBe(1);
    await opened.database.execute({ sql: 'ALTER TABLE ledger_transfers DISABLE TRIGGER slow' });
    await queue.flushed();
    expect([await charges(), queue.size]).toEqual([CALLS + 1, 0]);
  }, 120_000);

  it('commits the charges of others while the account of an organization is locked, and then its own', async () => {
    const locked = anOpening();
    await new LedgerRepository(opened.database).topUp(locked.organizationId, '10', 'top-up');
    const ofLocked = Array.from({ length: 5 }, () => anOpening({ organizationId: locked.organizationId }));
    await opened.database.session(async ({ client }) => {
      await client.query('BEGIN');
      await client.query('SET LOCAL idle_in_transaction_session_timeout = 0');
      await client.query('SELECT 1 FROM ledger_accounts WHERE id = $1 FOR UPDATE', [`org:${locked.organizationId}`]);
      for (const opening of ofLocked) queue.add(aSettlement(opening, '0.01'));
      for (let call = 0; call < CALLS; call += 1) queue.add(aSettlement(anOpening(), '0.01'));
      await untilCharged(CALLS);
      expect(queue.size).toBe(ofLocked.length);
      await client.query('ROLLBACK');
    });
    await queue.flushed();
    expect([await charges(), queue.size]).toEqual([CALLS + ofLocked.length, 0]);
  }, 120_000);
});
