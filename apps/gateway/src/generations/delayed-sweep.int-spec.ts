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
  let isDead: boolean;
  let queue: SettlementQueue;

  beforeEach(async () => {
    await books.database.execute({ sql: 'DELETE FROM delayed_charges' });
    repository = new DelayedChargesRepository(books.database);
    delayed = new DelayedCharges(repository, silent);
    isDead = false;
    const settle = (some: readonly GenerationSettlement[], lockWaitMs?: number): Promise<number> =>
      isDead ? Promise.reject(new Error('the process is gone')) : books.generations.settle(some, lockWaitMs);
    queue = new SettlementQueue({ settle }, silent, { delayed });
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

  async function whileLocked(organizationId: string, work: () => Promise<void>): Promise<void> {
    await books.database.session(async ({ client }) => {
      await client.query('BEGIN');
      await client.query('SET LOCAL idle_in_transaction_session_timeout = 0');
      await client.query('SELECT 1 FROM ledger_accounts WHERE id = $1 FOR UPDATE', [`org:${organizationId}`]);
      try {
        await work();
      } finally {
        await client.query('ROLLBACK');
      }
    });
  }

  async function untilWrittenDown(count: number): Promise<void> {
    const endMs = performance.now() + PATIENCE_MS;
    while ((await writtenDown()).length < count && performance.now() < endMs) {
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
    await whileLocked(organizationId, async () => {
      queue.add(aSettlement(opening, '0.25'));
      queue.add(aSettlement(early, '0.5'));
      await untilWrittenDown(2);
      queue.add(aSettlement(last, '1'));
      await untilWrittenDown(3);
      isDead = true;
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
    await whileLocked(locked.organizationId, async () => {
      await sweep();
      expect([await charged(locked, other), await writtenDown()]).toEqual([[other.id], [locked.id]]);
    });
    await sweep();
    expect([(await charged(locked, other)).length, await writtenDown()]).toEqual([2, []]);
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

  it('does not write down a charge that was committed meanwhile', async () => {
    const charge = aSettlement(anOpening(), '0.25');
    delayed.add(charge);
    delayed.done(charge);
    const later = aSettlement(anOpening(), '0.25');
    delayed.add(later);
    await untilWrittenDown(1);
    expect(await writtenDown()).toEqual([later.id]);
  });
});
