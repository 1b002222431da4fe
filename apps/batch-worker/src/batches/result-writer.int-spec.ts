import { randomUUID } from 'node:crypto';
import { BatchResultsRepository, BatchSegmentsRepository, type LineOutcome, type StoreReport } from '@libs/persistence';
import {
  aLineOutcome,
  beginBatch,
  openTestDatabase,
  startBatch,
  storeBatch,
  type OpenTestDatabase,
} from '@libs/persistence/testing';
import { RESULT_GROUPS, ResultWriter } from './result-writer';

const LINES = 128;
const SLOW_LINE = 100;
const PATIENCE_MS = 60_000;

describe(ResultWriter.name, () => {
  let opened: OpenTestDatabase;

  beforeEach(async () => {
    opened = await openTestDatabase();
  });

  afterEach(() => opened.close());

  async function untilStored(count: number): Promise<void> {
    const sql = 'SELECT count(*)::integer AS n FROM batch_results';
    const stored = async (): Promise<number> => (await opened.database.firstRow<{ n: number }>({ sql }))!.n;
    const endMs = performance.now() + PATIENCE_MS;
    while ((await stored()) < count && performance.now() < endMs) await new Promise((go) => setTimeout(go, 50));
    expect(await stored()).toBe(count);
  }

  it('tries two batches of a locked key, and stores the results of others meanwhile', async () => {
    const { database } = opened;
    const locked = { apiKeyHash: 'b'.repeat(64), organizationId: randomUUID() };
    for (let batch = 0; batch < 12; batch += 1) await beginBatch(database, await storeBatch(database, 2, '1', locked));
    const other = await storeBatch(database, 1, '1', { apiKeyHash: 'c'.repeat(64) });
    await beginBatch(database, other);
    const claims = await new BatchSegmentsRepository(database).claim(100, 600_000);
    const [other1] = claims.filter(({ batchId }) => batchId === other.id);
    const ofLocked = claims.filter((claim) => claim !== other1);
    const results = new BatchResultsRepository(database);
    // Creates the row of the key's day, which is locked below.
    await results.store([aLineOutcome(ofLocked[0]!, 0)]);
    const isStored = Promise.withResolvers<number>();
    let statements = 0;
    const store = (outcomes: readonly LineOutcome[]): Promise<StoreReport> => {
      statements += 1;
      return results.store(outcomes);
    };
    const writer = new ResultWriter(
      { store },
      {
        ...RESULT_GROUPS,
        onStored: (outcomes) => outcomes.some(({ lease }) => lease === other1) && isStored.resolve(statements),
        onFailure: () => undefined,
      },
    );
    await database.session(async ({ client }) => {
      await client.query('BEGIN');
      await client.query('SET LOCAL idle_in_transaction_session_timeout = 0');
      await client.query('SELECT 1 FROM ledger_key_days WHERE api_key_hash = $1 FOR UPDATE', [locked.apiKeyHash]);
      for (const claim of ofLocked) writer.add(aLineOutcome(claim, 1));
      writer.add(aLineOutcome(other1!, 0));
      // One statement with all results, two with a locked batch each, one with the other batch.
      expect(await isStored.promise).toBe(4);
      await client.query('ROLLBACK');
    });
    await writer.flush();
    await untilStored(14);
  }, 180_000);

  it('stores all outcomes but the one that PostgreSQL takes too long for, and that one once it can', async () => {
    const { database } = opened;
    await database.execute({
      sql: `CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
              IF NEW.seq = ${SLOW_LINE} THEN RAISE EXCEPTION USING ERRCODE = 'query_canceled'; END IF;
              RETURN NEW; END $$`,
    });
    await database.execute({
      sql: 'CREATE TRIGGER slow BEFORE INSERT ON batch_results FOR EACH ROW EXECUTE FUNCTION slow()',
    });
    await startBatch(database, LINES);
    const claims = await new BatchSegmentsRepository(database).claim(LINES, 600_000);
    const reported: number[] = [];
    const writer = new ResultWriter(new BatchResultsRepository(database), {
      ...RESULT_GROUPS,
      onStored: (outcomes) => void reported.push(...outcomes.map(({ seq }) => seq)),
      onFailure: () => undefined,
    });
    for (let seq = 0; seq < LINES; seq += 1) {
      const claim = claims.find(({ firstSeq, lastSeq }) => firstSeq <= seq && seq <= lastSeq)!;
      writer.add(aLineOutcome(claim, seq));
    }
    await untilStored(LINES - 1);
    await database.execute({ sql: 'ALTER TABLE batch_results DISABLE TRIGGER slow' });
    await writer.flush();
    await untilStored(LINES);
    expect(writer.pending).toBe(0);
    expect(reported.toSorted((one, other) => one - other)).toEqual(Array.from({ length: LINES }, (_, seq) => seq));
  }, 180_000);
});
