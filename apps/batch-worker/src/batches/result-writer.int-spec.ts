import { BatchResultsRepository, BatchSegmentsRepository } from '@libs/persistence';
import { aLineOutcome, openTestDatabase, startBatch, type OpenTestDatabase } from '@libs/persistence/testing';
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
