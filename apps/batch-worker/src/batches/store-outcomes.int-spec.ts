import { BatchResultsRepository, BatchSegmentsRepository, type LineOutcome } from '@libs/persistence';
import { aLineOutcome, openTestDatabase, startBatch, type OpenTestDatabase } from '@libs/persistence/testing';
import { captureLog } from '@libs/platform/testing';
import { ResultWriter, RESULT_GROUPS } from './result-writer';
import { storeOutcomes } from './store-outcomes';

describe(storeOutcomes.name, () => {
  let opened: OpenTestDatabase;
  let errors: string[];
  let failures: unknown[];

  beforeEach(async () => {
    failures = [];
    errors = captureLog('error');
    opened = await openTestDatabase();
  });

  afterEach(() => opened.close());

  /** Stores the outcomes of a batch of eight lines, changed as given, in one group; the batches with done segments. */
  async function write(change: (outcome: LineOutcome) => Partial<LineOutcome>): Promise<bigint[]> {
    const { database } = opened;
    await startBatch(database, 8);
    const claims = await new BatchSegmentsRepository(database).claim(8, 60_000);
    const done: bigint[] = [];
    const writer = new ResultWriter(new BatchResultsRepository(database), {
      ...RESULT_GROUPS,
      onStored: (_outcomes, numbers) => done.push(...numbers),
      onFailure: (error) => failures.push(error),
    });
    for (let seq = 0; seq < 8; seq += 1) {
      const claim = claims.find(({ firstSeq, lastSeq }) => firstSeq <= seq && seq <= lastSeq)!;
      const outcome = aLineOutcome(claim, seq);
      writer.add({ ...outcome, ...change(outcome) });
    }
    await writer.flush();
    return done;
  }

  const results = (): Promise<{ seq: number; cost: string; error: object | null }[]> =>
    opened.database.rows({ sql: 'SELECT seq, cost_usd::text AS cost, error FROM batch_results ORDER BY seq' });

  it('stores the other lines when PostgreSQL refuses one, which gets an error that is not charged', async () => {
    const done = await write(({ seq }) => (seq === 5 ? { serviceTier: 'nul\u0000' } : {}));
    const stored = await results();
    expect(stored.map(({ seq }) => seq)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(stored.filter(({ error }) => error !== null)).toEqual([
      {
        seq: 5,
        cost: '0.000000000000',
        error: { type: 'server_error', message: 'Internal error', param: null, error_type: 'server' },
      },
    ]);
    const [charged] = await opened.database.rows<{ usd: string }>({
      sql: `SELECT sum(amount_usd)::text AS usd FROM ledger_transfers WHERE kind = 'charge'`,
    });
    expect(charged?.usd).toBe('0.140000000000');
    expect(new Set(done).size).toBe(1);
    expect(failures).toEqual([]);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatch(/^result gen-\d+-5 of line 5 of batch number \d+, 0.02 USD, was refused/);
    expect(errors[0]).not.toContain('nul');
  });

  it('goes on when PostgreSQL refuses a line in every form, and says so', async () => {
    await opened.database.execute({
      sql: `CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN IF NEW.seq = 5 THEN RAISE EXCEPTION 'poison'; END IF; RETURN NEW; END $$`,
    });
    await opened.database.execute({
      sql: 'CREATE TRIGGER poison BEFORE INSERT ON batch_results FOR EACH ROW EXECUTE FUNCTION poison()',
    });
    await write(() => ({}));
    expect((await results()).map(({ seq }) => seq)).toEqual([0, 1, 2, 3, 4, 6, 7]);
    expect(errors).toHaveLength(2);
  });
});
