import type { CopyRow } from '../copy-row';
import { openTestDatabase, storeBatch, type OpenTestDatabase, type StoredBatch } from '../testing';
import { BatchResultPagesRepository, RESULT_FIELD, type ResultRange } from './batch-result-pages.repository';

const EVERYTHING = { afterSeq: -1, mostItems: 1_000, mostBytes: 1_000_000 };

interface Item {
  readonly seq: number;
  readonly customId: string;
  readonly requestId: string | null;
  readonly statusCode: number | null;
  readonly body: string | null;
  readonly error: string | null;
}

function answered(seq: number, customId: string, body: string): Item {
  return { seq, customId, requestId: `req-${seq}`, statusCode: 200, body, error: null };
}

function unanswered(seq: number, customId: string, error: string | null): Item {
  return { seq, customId, requestId: null, statusCode: null, body: null, error };
}

describe(BatchResultPagesRepository.name, () => {
  let opened: OpenTestDatabase;
  let pages: BatchResultPagesRepository;

  beforeAll(async () => {
    opened = await openTestDatabase();
    pages = new BatchResultPagesRepository(opened.database);
  });

  afterAll(() => opened.close());

  async function store({ createdOn, number }: StoredBatch, items: readonly Item[]): Promise<void> {
    for (const { seq, customId, statusCode, requestId, body, error } of items) {
      await opened.database.execute({
        sql: `INSERT INTO batch_results (created_on, batch_number, seq, custom_id, status_code, request_id, body, error)
              VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
        values: [createdOn, number, seq, customId, statusCode, requestId, body && Buffer.from(body), error],
      });
    }
  }

  async function read(batch: StoredBatch, range: Partial<ResultRange> = {}, isStopped = false): Promise<Item[]> {
    const items: Item[] = [];
    const text = (row: CopyRow, field: number): string | null => (row.isNull(field) ? null : row.text(field));
    await pages.page(batch.owner, { ...batch, isStopped }, { ...EVERYTHING, ...range }, (row) => {
      items.push({
        seq: row.integer(RESULT_FIELD.seq),
        customId: row.text(RESULT_FIELD.customId),
        statusCode: row.isNull(RESULT_FIELD.statusCode) ? null : row.smallint(RESULT_FIELD.statusCode),
        requestId: text(row, RESULT_FIELD.requestId),
        body: text(row, RESULT_FIELD.body),
        error: text(row, RESULT_FIELD.error),
      });
    });
    return items;
  }

  it('tells each result as it was stored', async () => {
    const batch = await storeBatch(opened.database, 1);
    const items = [
      answered(0, 'plain', '{ "price" : 1.10 }'),
      answered(1, '"quoted" \\ \u0001\n ü 漢 \u{1f600}', ''),
      answered(2, 'large', `"${'x'.repeat(200_000)}"`),
      unanswered(3, 'failed', '{"type":"server_error"}'),
    ];
    await store(batch, items);
    expect(await read(batch)).toEqual(items);
  });

  it('tells each request of a batch that was stopped, with a result or without', async () => {
    const batch = await storeBatch(opened.database, 6);
    const known = [answered(1, 'line-1', '{}'), unanswered(3, 'line-3', '{}')];
    await store(batch, known);
    const missing = (seq: number): Item => unanswered(seq, `line-${seq}`, null);
    expect(await read(batch, { mostItems: 4 }, true)).toEqual([missing(0), known[0], missing(2), known[1]]);
    expect(await read(batch, { afterSeq: 3 }, true)).toEqual([missing(4), missing(5)]);
  });

  it('goes on where the last page ended, without a gap and without a repetition', async () => {
    const batch = await storeBatch(opened.database, 1);
    const all = Array.from({ length: 25 }, (_, place) => answered(place * 3, `c${place}`, '1'));
    await store(batch, all);
    const found: Item[] = [];
    for (let page = await read(batch, { mostItems: 7 }); page.length > 0;) {
      found.push(...page);
      page = await read(batch, { afterSeq: page.at(-1)!.seq, mostItems: 7 });
    }
    expect(found).toEqual(all);
  });

  it('ends a page with the result that reaches its weight, whatever the ones before weighed', async () => {
    const batch = await storeBatch(opened.database, 1);
    const weights = [10, 10, 100_000, 100_000, 300_000, 10];
    await store(
      batch,
      weights.map((weight, seq) => answered(seq, `c${seq}`, `"${'x'.repeat(weight)}"`)),
    );
    const counts: number[] = [];
    for (let page = await read(batch, { mostBytes: 150_000 }); page.length > 0;) {
      counts.push(page.length);
      page = await read(batch, { afterSeq: page.at(-1)!.seq, mostBytes: 150_000 });
    }
    expect(counts).toEqual([4, 1, 1]);
    const range = { ...EVERYTHING, mostBytes: 150_000 };
    const weight = await pages.weigh(batch.owner, { ...batch, isStopped: false }, range);
    expect(weight).toEqual({ items: 4, bytes: 200_020 + 4 * 2 + 4 * 2 });
  });

  it('tells nothing of a batch that was deleted', async () => {
    const batch = await storeBatch(opened.database, 1);
    expect(await read(batch)).toEqual([]);
  });

  it('is told of what its reader throws, and the connection goes on', async () => {
    const batch = await storeBatch(opened.database, 1);
    await store(batch, [answered(0, 'a', '1'), answered(1, 'b', '2')]);
    await opened.database.session(async (session) => {
      const reading = session.copyEach('SELECT seq FROM batch_results', () => {
        throw new Error('no room');
      });
      await expect(reading).rejects.toThrow('no room');
      await expect(session.copyEach('SELECT 1/0', () => undefined)).rejects.toThrow('division by zero');
      expect(await session.rows({ sql: 'SELECT 1 AS one' })).toEqual([{ one: 1 }]);
    });
  });
});
