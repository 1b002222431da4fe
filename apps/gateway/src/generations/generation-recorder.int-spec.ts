import { randomUUID } from 'node:crypto';
import { createDataSource, Database, GenerationsRepository, LedgerRepository } from '@libs/persistence';
import { anOpening, aSettlement, createTestDatabase, type TestDatabase } from '@libs/persistence/testing';
import { GenerationRecorder } from './generation-recorder';
import type { CallOutcome, Opening } from './generation-ticket';

const DOLLAR = 1_000_000_000_000n;

describe(GenerationRecorder.name, () => {
  let created: TestDatabase;
  let database: Database;
  let close: () => Promise<void>;
  let recorder: GenerationRecorder;
  let errors: unknown[][];

  beforeEach(async () => {
    created = await createTestDatabase();
    const dataSource = await createDataSource({ url: created.url, connectTimeoutMs: 20_000 }).initialize();
    close = () => dataSource.destroy();
    database = new Database(dataSource);
    errors = [];
    const logger = { log() {}, warn() {}, error: (...line: unknown[]) => errors.push(line) };
    recorder = new GenerationRecorder(new GenerationsRepository(database), async (opening) => opening, logger);
  });

  afterEach(async () => {
    await recorder.flush();
    expect(await new LedgerRepository(database).audit()).toEqual([]);
    await close();
    await created.drop();
  });

  /** Calls of organizations of their own, each with ten dollars. */
  async function openings(count: number): Promise<Opening[]> {
    const made = Array.from({ length: count }, () => anOpening());
    for (const { organizationId } of made) {
      await new LedgerRepository(database).topUp(organizationId, '10', randomUUID());
    }
    return made;
  }

  function outcomeOf(opening: Opening, changes: Partial<CallOutcome> = {}): CallOutcome {
    return { ...aSettlement({ ...opening, holdUsd: '1' }, '0.25'), costPicoUsd: DOLLAR / 4n, ...changes };
  }

  const charges = (): Promise<{ reference: string }[]> =>
    database.rows({ sql: `SELECT reference FROM ledger_transfers WHERE kind = 'charge'` });

  it('opens the other calls of a group when PostgreSQL refuses one', async () => {
    const made = await openings(7);
    const tickets = made.map((opening, index) =>
      recorder.open(index === 3 ? { ...opening, model: 'vendor/nul\u0000' } : opening, DOLLAR),
    );
    const answers = await Promise.allSettled(tickets.map(async ({ covered }) => covered));
    expect(answers.map(({ status }) => status)).toEqual([
      ...Array.from({ length: 3 }, () => 'fulfilled'),
      'rejected',
      ...Array.from({ length: 3 }, () => 'fulfilled'),
    ]);
    expect(JSON.stringify(errors)).toContain(made[3]!.id);
  });

  it('charges the other calls when PostgreSQL refuses what describes one, and that one without it', async () => {
    const made = await openings(7);
    const tickets = made.map((opening) => recorder.open(opening, DOLLAR));
    await Promise.all(tickets.map(async ({ covered }) => covered));
    for (const [index, ticket] of tickets.entries()) {
      const changes = index === 3 ? { details: { attempts: [], userAgent: '\ud800' }, upstreamId: 'nul\u0000' } : {};
      ticket.settle(outcomeOf(ticket.opening, changes));
    }
    await recorder.flush();
    expect((await charges()).map(({ reference }) => reference).toSorted()).toEqual(made.map(({ id }) => id).toSorted());
    const bare = await database.firstRow({
      sql: 'SELECT state, upstream_id FROM generations WHERE id = $1',
      values: [made[3]!.id],
    });
    expect(bare).toEqual({ state: 'settled', upstream_id: null });
  });

  it('says what was not charged when PostgreSQL refuses a charge in every form', async () => {
    const [good, bad] = await openings(2);
    for (const opening of [good!, bad!]) {
      const ticket = recorder.open(opening, DOLLAR);
      await ticket.covered;
      ticket.settle(outcomeOf(opening, opening === bad ? { statusCode: 99_999 } : {}));
    }
    await recorder.flush();
    expect((await charges()).map(({ reference }) => reference)).toEqual([good!.id]);
    const [line] = errors.map((one) => one[1]);
    expect(line).toMatchObject({ generationId: bad!.id, costUsd: '0.25', sqlState: '22003' });
  });

  it('answers 503 with Retry-After while the row of an account is locked, and loses no charge', async () => {
    const [opening] = await openings(1);
    const other = { ...opening!, id: anOpening().id };
    const first = recorder.open(opening!, DOLLAR);
    await first.covered;
    await database.transaction(async (session) => {
      await session.execute({
        sql: 'SELECT 1 FROM ledger_accounts WHERE id = $1 FOR UPDATE',
        values: [`org:${opening!.organizationId}`],
      });
      first.settle(outcomeOf(opening!));
      const second = recorder.open(other, DOLLAR * 2n);
      await expect(second.covered).rejects.toMatchObject({ status: 503, retryAfterSeconds: 2 });
      second.withdraw(outcomeOf(other, { costUsd: '0', costPicoUsd: 0n }));
    });
    await recorder.flush();
    expect((await charges()).map(({ reference }) => reference)).toEqual([opening!.id]);
  });

  it('spends what an organization has once, although calls at two gateways end before their holds are written', async () => {
    const [opening] = await openings(1);
    let nowMs = 0;
    const silent = { log() {}, warn() {}, error() {} };
    const gateways = [0, 1].map(
      () =>
        new GenerationRecorder(new GenerationsRepository(database), async (one) => one, silent, { nowMs: () => nowMs }),
    );
    const cost = { costUsd: '0.1', costPicoUsd: DOLLAR / 10n };
    const nothing = { costUsd: '0', costPicoUsd: 0n };
    let refused = 0;
    for (let round = 0; round < 100; round += 1, nowMs += 40) {
      for (const gateway of gateways) {
        const ticket = gateway.open({ ...opening!, id: anOpening().id }, cost.costPicoUsd);
        const isPaid = ticket.covered === null || (await ticket.covered.then(isTrue, isFalse));
        if (isPaid) ticket.settle(outcomeOf(ticket.opening, cost));
        else ticket.withdraw(outcomeOf(ticket.opening, nothing));
        refused += isPaid ? 0 : 1;
        await gateway.flush();
      }
    }
    const { balanceUsd } = await new LedgerRepository(database).accountOf(opening!.organizationId);
    expect([Number(balanceUsd), refused]).toEqual([0, 100]);
  });
});

const isTrue = (): boolean => true;
const isFalse = (): boolean => false;
