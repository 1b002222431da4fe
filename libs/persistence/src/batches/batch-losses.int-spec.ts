import { LedgerRepository } from '../ledger/ledger.repository';
import { OutboxRepository } from '../outbox/outbox.repository';
import {
  announcementsOf,
  batchesOf,
  answerLinesBefore,
  beginBatch,
  openTestDatabase,
  storeBatch,
  type OpenTestDatabase,
  type StoredBatch,
} from '../testing';
import { BatchEndingsRepository } from './batch-endings.repository';
import { BatchResultPagesRepository, RESULT_FIELD } from './batch-result-pages.repository';
import type { BatchesRepository } from './batches.repository';
import { BatchViewsRepository } from './batch-views.repository';

const LINES = 8;
const usage = ({ costUsd }: { readonly costUsd: string }): object => ({ cost: Number(costUsd) });

/** Batches that lost rows which no code of ours removes. */
describe('a batch that lost something', () => {
  let opened: OpenTestDatabase;
  let batches: BatchesRepository;
  let endings: BatchEndingsRepository;
  let ledger: LedgerRepository;
  let reports: string[];

  beforeAll(async () => {
    opened = await openTestDatabase();
    const { database } = opened;
    ledger = new LedgerRepository(database);
    batches = batchesOf(database);
    endings = new BatchEndingsRepository(database, ledger, new OutboxRepository(database), announcementsOf(database));
  });

  afterAll(() => opened.close());

  beforeEach(() => {
    reports = [];
  });

  afterEach(async () => {
    expect(await ledger.audit()).toEqual([]);
    expect(await opened.database.rows({ sql: `SELECT id FROM ledger_holds WHERE state = 'open'` })).toEqual([]);
  });

  const report = (problem: string): void => void reports.push(problem);

  const lose = ({ number }: StoredBatch, what: string): Promise<number> =>
    opened.database.execute({ sql: `DELETE FROM ${what} AND batch_number = $1`, values: [number] });

  /** In progress, with a result at two cents for each of the first `answered` lines. */
  async function runningBatch(answered: number): Promise<StoredBatch> {
    const batch = await storeBatch(opened.database, LINES);
    await opened.database.execute({
      sql: `UPDATE batches SET callback_url = 'https://receiver.example/hook' WHERE id = $1`,
      values: [batch.id],
    });
    await beginBatch(opened.database, batch);
    expect(await answerLinesBefore(opened.database, answered, LINES)).toBe(answered);
    return batch;
  }

  const viewOf = ({ id, owner }: StoredBatch) => new BatchViewsRepository(opened.database).findForWorkspace(id, owner);

  async function announced({ id }: StoredBatch): Promise<string[]> {
    const rows = await opened.database.rows<{ type: string }>({
      sql: 'SELECT type FROM webhook_deliveries WHERE id LIKE $1',
      values: [`${id}-%`],
    });
    return rows.map(({ type }) => type);
  }

  /** The numbers of the items that its owner can read. */
  async function shownOf(batch: StoredBatch, isStopped: boolean, mostItems = 1_000): Promise<number[]> {
    const shown: number[] = [];
    for (let count = -1; shown.length !== count;) {
      count = shown.length;
      const range = { afterSeq: shown.at(-1) ?? -1, mostItems, mostBytes: 1_000_000 };
      const pages = new BatchResultPagesRepository(opened.database);
      await pages.page(batch.owner, { ...batch, isStopped }, range, (row) => shown.push(row.integer(RESULT_FIELD.seq)));
    }
    return shown;
  }

  async function finished(batch: StoredBatch): Promise<void> {
    expect(await batches.beginFinalizing(batch.number)).toBe(batch.id);
    expect(await batches.complete(batch.id, usage, report)).toBe(true);
  }

  it.each([
    ['two results', 'batch_results WHERE seq IN (2, 5)', 6, '2 of 8 requests have no result'],
    ['every result', 'batch_results WHERE true', 0, '8 of 8 requests have no result'],
  ])(
    'does not end as completed without %s, and pays with its hold what was charged',
    async (_what, loss, left, problem) => {
      const batch = await runningBatch(LINES);
      await lose(batch, loss);
      await finished(batch);
      expect(reports).toEqual([expect.stringContaining(problem)]);
      expect(await viewOf(batch)).toMatchObject({
        status: 'failed',
        total: LINES,
        completed: left,
        failed: LINES - left,
        errorMessage: reports[0],
        usage: { cost: left * 0.02 },
      });
      expect(await announced(batch)).toEqual(['batch.failed']);
      expect((await ledger.accountOf(batch.owner.organizationId)).balanceUsd).toBe('9.840000000000');
      // What has no result is still a request, and is shown as one.
      expect(await shownOf(batch, true)).toHaveLength(LINES);
      expect(await batches.complete(batch.id, usage, report)).toBe(false);
      expect(reports).toHaveLength(1);
    },
  );

  it('does not end as completed when none of its lines ran because none was there', async () => {
    const batch = await runningBatch(0);
    await lose(batch, 'batch_lines WHERE true');
    await lose(batch, 'batch_segments WHERE true');
    await finished(batch);
    expect(await viewOf(batch)).toMatchObject({ status: 'failed', completed: 0, failed: LINES });
    expect(await shownOf(batch, true)).toEqual([]);
  });

  it('ends as completed when it lost nothing, and is not reported', async () => {
    const batch = await runningBatch(LINES);
    await finished(batch);
    expect(await viewOf(batch)).toMatchObject({ status: 'completed', completed: LINES, failed: 0, errorMessage: null });
    expect(reports).toEqual([]);
  });

  it.each(['cancelled', 'expired', 'failed'] as const)(
    'ends %s as it was to end, and says what it lost',
    async (ending) => {
      const batch = await runningBatch(3);
      await stop(batch, ending);
      await lose(batch, 'batch_lines WHERE seq IN (0, 1, 7)');
      expect(await endings.finish(batch.number, usage, report)).toBe(ending);
      expect(reports).toEqual(['3 of 8 requests are not there: the service lost them']);
      const reason = ending === 'failed' ? 'too many failures. ' : '';
      const counts = { completed: 3, failed: 5, usage: { cost: 0.06 } };
      expect(await viewOf(batch)).toMatchObject({ status: ending, errorMessage: reason + reports[0], ...counts });
      // Results 0 and 1 were paid for; of line 7 nothing is left.
      for (const mostItems of [1, 2, 3, 1_000]) {
        expect(await shownOf(batch, true, mostItems)).toEqual([0, 1, 2, 3, 4, 5, 6]);
      }
    },
  );

  it('shows the results alone when every line is lost', async () => {
    const batch = await runningBatch(3);
    await stop(batch, 'cancelled');
    await lose(batch, 'batch_lines WHERE true');
    await endings.finish(batch.number, usage, report);
    expect(await shownOf(batch, true, 2)).toEqual([0, 1, 2]);
  });

  it('ends as it was to end when it lost nothing, and is not reported', async () => {
    const batch = await runningBatch(3);
    await stop(batch, 'cancelled');
    expect(await endings.finish(batch.number, usage, report)).toBe('cancelled');
    expect(await viewOf(batch)).toMatchObject({ completed: 3, failed: 5, errorMessage: null });
    expect(reports).toEqual([]);
  });

  async function stop({ id, owner }: StoredBatch, ending: 'cancelled' | 'expired' | 'failed'): Promise<void> {
    if (ending === 'cancelled') await endings.cancel(id, owner);
    if (ending === 'failed') await endings.fail(id, 'too many failures');
    if (ending === 'expired') {
      await opened.database.execute({ sql: 'UPDATE batches SET expires_at = now() WHERE id = $1', values: [id] });
      expect(await endings.findExpired(10)).toEqual([id]);
      expect(await endings.expire(id)).toBe(true);
    }
    await opened.database.execute({ sql: 'UPDATE batches SET stop_by = now() WHERE id = $1', values: [id] });
  }
});
