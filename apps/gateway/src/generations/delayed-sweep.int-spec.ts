import { DelayedChargesRepository, type GenerationSettlement } from '@libs/persistence';
import { anOpening, aSettlement, booksOfSpec } from '@libs/persistence/testing';
import type { TaskRunner } from '@libs/platform';
import { DelayedCharges } from './delayed-charges';
import { DelayedSweep } from './delayed-sweep';
import { SettlementQueue } from './settlement-queue';

const PATIENCE_MS = 60_000;
/** Instead of the turns that the gateways of an installation take. */
const atOnce: TaskRunner = { run: (_task, _turn, work) => work() };
const silent = { log() {}, warn() {}, error() {} };

describe(DelayedSweep.name, () => {
  const books = booksOfSpec();
  let repository: DelayedChargesRepository;
  let delayed: DelayedCharges;
  /** Resolves when something was logged as an error. */
  let failed: PromiseWithResolvers<void>;
  let isDead: boolean;
  let queue: SettlementQueue;

  beforeEach(async () => {
    await books.database.execute({ sql: 'DELETE FROM delayed_charges' });
    repository = new DelayedChargesRepository(books.database);
    failed = Promise.withResolvers();
    delayed = new DelayedCharges(repository, { ...silent, error: () => failed.resolve() });
    isDead = false;
    const settle = (some: readonly GenerationSettlement[]): Promise<number> =>
      isDead ? Promise.reject(new Error('the process is gone')) : books.generations.settle(some);
    const lockedAmong = (ids: readonly string[]): Promise<ReadonlySet<string>> => books.generations.lockedAmong(ids);
    queue = new SettlementQueue({ settle, lockedAmong }, silent, { delayed });
  });

  const charged = async (...calls: readonly { readonly id: string }[]): Promise<string[]> => {
    const sql = `SELECT reference FROM ledger_transfers WHERE kind = 'charge' AND reference = ANY($1::text[])`;
    const rows = await books.database.rows<{ reference: string }>({ sql, values: [calls.map(({ id }) => id)] });
    return rows.map(({ reference }) => reference);
  };
  const writtenDown = async (): Promise<string[]> => (await repository.find(0, 100, [])).map(({ id }) => id);
  const sweep = async (): Promise<void> => {
    await books.database.execute({ sql: `UPDATE delayed_charges SET created_at = now() - interval '2 minutes'` });
    await new DelayedSweep(books.generations, repository, silent, atOnce).sweep();
  };

  async function whileLocked(organizationIds: readonly string[], work: () => Promise<void>): Promise<void> {
    await books.database.session(async ({ client }) => {
      await client.query('BEGIN');
      await client.query('SET LOCAL idle_in_transaction_session_timeout = 0');
      const ids = organizationIds.map((id) => `org:${id}`);
      await client.query('SELECT 1 FROM ledger_accounts WHERE id = ANY($1::text[]) FOR UPDATE', [ids]);
      try {
        await work();
      } finally {
        await client.query('ROLLBACK');
      }
    });
  }

  async function untilWrittenDown(count: number): Promise<void> {
    const endMs = performance.now() + PATIENCE_MS;
    while ((await writtenDown()).length !== count && performance.now() < endMs) {
      await new Promise((go) => setTimeout(go, 20));
    }
    expect(await writtenDown()).toHaveLength(count);
  }

  it('commits once the charges of a gateway that died while their account was locked', async () => {
    const opening = anOpening();
    const { organizationId } = opening;
    await books.ledger.topUp(organizationId, '10', 'top-up');
    await books.generations.open([opening]);
    const [early, last] = [anOpening({ organizationId }), anOpening({ organizationId })];
    // Not even a statement of it that waits for the lock is carried out.
    isDead = true;
    await whileLocked([organizationId], async () => {
      queue.add(aSettlement(opening, '0.25'));
      queue.add(aSettlement(early, '0.5'));
      await untilWrittenDown(2);
      queue.add(aSettlement(last, '1'));
      await untilWrittenDown(3);
    });
    const calls = [opening, early, last];
    expect(await charged(...calls)).toEqual([]);
    await sweep();
    expect([(await charged(...calls)).length, await writtenDown()]).toEqual([3, []]);
    isDead = false;
    await queue.flushed();
    const account = await books.database.firstRow({
      sql: 'SELECT balance_usd::float8 AS balance, held_usd::float8 AS held FROM ledger_accounts WHERE id = $1',
      values: [`org:${organizationId}`],
    });
    expect(account).toEqual({ balance: 8.25, held: 0 });
  });

  it('commits the charges of others while one account is still locked, and that one later', async () => {
    const [locked, other] = [anOpening(), anOpening()];
    for (const { organizationId } of [locked, other]) await books.ledger.topUp(organizationId, '10', organizationId);
    await repository.keep([aSettlement(locked, '0.25'), aSettlement(other, '0.5')]);
    await whileLocked([locked.organizationId], async () => {
      await sweep();
      expect([await charged(locked, other), await writtenDown()]).toEqual([[other.id], [locked.id]]);
    });
    await sweep();
    expect([(await charged(locked, other)).length, await writtenDown()]).toEqual([2, []]);
  });

  it('commits the charges of others behind more of a locked account than it takes at once', async () => {
    const [locked, other] = [anOpening(), anOpening()];
    for (const { organizationId } of [locked, other]) await books.ledger.topUp(organizationId, '10', organizationId);
    const { organizationId } = locked;
    const many = Array.from({ length: 1_001 }, () => aSettlement(anOpening({ organizationId }), '0.001'));
    await repository.keep(many);
    await books.database.execute({ sql: `UPDATE delayed_charges SET created_at = now() - interval '3 minutes'` });
    await repository.keep([aSettlement(other, '0.5')]);
    await books.database.execute({
      sql: `UPDATE delayed_charges SET created_at = now() - interval '2 minutes' WHERE organization_id = $1`,
      values: [other.organizationId],
    });
    const sweeping = new DelayedSweep(books.generations, repository, silent, atOnce);
    await whileLocked([organizationId], () => sweeping.sweep());
    expect(await charged(other)).toEqual([other.id]);
    await sweep();
    expect(await charged(...many)).toHaveLength(many.length);
  });

  it('commits the charges of others in one pass although hundreds of accounts are locked', async () => {
    const calls = Array.from({ length: 300 }, () => anOpening());
    for (const { organizationId } of calls) await books.ledger.topUp(organizationId, '10', organizationId);
    await repository.keep(calls.map((call) => aSettlement(call, '0.25')));
    const [locked, other] = [calls.slice(0, -1), calls.at(-1)!];
    await whileLocked(
      locked.map(({ organizationId }) => organizationId),
      async () => {
        await sweep();
        expect(await charged(...calls)).toEqual([other.id]);
      },
    );
    await sweep();
    expect(await charged(...calls)).toHaveLength(calls.length);
  });

  it('writes down everything that a charge consists of, and texts that PostgreSQL has no form for', async () => {
    const details = {
      attempts: [],
      isByok: true,
      upstreamCostUsd: '0.1',
      userAgent: 'a "quoted" \\ agent \ud800',
    } as const;
    const charge = aSettlement(anOpening(), '0.00000000000123', {
      byokFeeUsd: '0.005',
      upstreamId: 'nul \0 in it',
      details,
    });
    await repository.keep([charge]);
    await repository.keep([charge]);
    expect(await repository.find(0, 10, [])).toEqual([charge]);
    await sweep();
    expect([await charged(charge), await writtenDown()]).toEqual([[charge.id], []]);
  });

  it('removes what was written down of a charge that its gateway commits itself after all', async () => {
    const { organizationId } = anOpening();
    await books.ledger.topUp(organizationId, '10', organizationId);
    const calls = [anOpening({ organizationId }), anOpening({ organizationId })];
    await whileLocked([organizationId], async () => {
      for (const call of calls) queue.add(aSettlement(call, '0.25'));
      await untilWrittenDown(2);
    });
    await queue.flushed();
    await untilWrittenDown(0);
    expect(await charged(...calls)).toHaveLength(2);
  });

  it('writes down nothing of a charge that is committed soon', async () => {
    const quick = aSettlement(anOpening(), '0.25');
    delayed.add(quick);
    delayed.done(quick);
    const slow = aSettlement(anOpening(), '0.25');
    delayed.add(slow);
    await untilWrittenDown(1);
    expect(await writtenDown()).toEqual([slow.id]);
  });

  it('writes charges down once PostgreSQL takes them', async () => {
    await books.database.execute({ sql: 'ALTER TABLE delayed_charges RENAME TO away' });
    const charges = [aSettlement(anOpening(), '0.25'), aSettlement(anOpening(), '0.5')];
    for (const charge of charges) delayed.add(charge);
    await failed.promise;
    await books.database.execute({ sql: 'ALTER TABLE away RENAME TO delayed_charges' });
    await untilWrittenDown(2);
  });
});
