import {
  batchesOf,
  answerLinesBefore,
  openTestDatabase,
  startBatch,
  storeBatch,
  type OpenTestDatabase,
  type StoredBatch,
} from '../testing';
import { BatchChecksRepository, type BatchFinding } from './batch-checks.repository';
import type { BatchProblemKind } from './batch-figures';
import type { BatchesRepository } from './batches.repository';

const LEASE_MS = 30_000;
const LINES = 8;

describe(BatchChecksRepository.name, () => {
  let opened: OpenTestDatabase;
  let batches: BatchesRepository;
  let checks: BatchChecksRepository;

  beforeAll(async () => {
    opened = await openTestDatabase();
    batches = batchesOf(opened.database);
    checks = new BatchChecksRepository(opened.database);
  });

  afterAll(() => opened.close());

  beforeEach(async () => {
    const sql = 'TRUNCATE batches, batch_lines, batch_results, batch_segments, ledger_holds, ledger_transfers';
    await opened.database.execute({ sql });
  });

  async function running(answered = LINES): Promise<StoredBatch> {
    const batch = await startBatch(opened.database, LINES);
    await answerLinesBefore(opened.database, answered, LINES);
    return batch;
  }

  async function completed(): Promise<StoredBatch> {
    const batch = await running();
    await batches.beginFinalizing(batch.number);
    await batches.complete(batch.id, ({ costUsd }) => ({ cost: Number(costUsd) }));
    return batch;
  }

  async function failedValidation(): Promise<StoredBatch> {
    const batch = await storeBatch(opened.database, LINES);
    await batches.failValidation((await batches.claimValidation(batch.id, LEASE_MS))!, 'no');
    return batch;
  }

  const STAGES = {
    validating: () => storeBatch(opened.database, LINES),
    running: () => running(5),
    completed,
    'failed in validation': failedValidation,
  };

  /** All pages. */
  async function found(since?: Date): Promise<{ checked: number; findings: BatchFinding[] }> {
    let checked = 0;
    const findings: BatchFinding[] = [];
    for await (const page of checks.check(since)) {
      checked += page.checked;
      findings.push(...page.findings);
    }
    return { checked, findings };
  }

  it('finds nothing in batches of every stage', async () => {
    for (const make of Object.values(STAGES)) await make();
    expect(await found()).toEqual({ checked: 4, findings: [] });
  });

  const OF = 'WHERE batch_number = $1';
  const defects: [keyof typeof STAGES, string, BatchProblemKind[]][] = [
    ['validating', `DELETE FROM batch_lines ${OF} AND seq = 7`, ['lines']],
    ['running', `UPDATE batch_lines SET seq = 100 ${OF} AND seq = 3`, ['lines']],
    ['completed', `DELETE FROM batch_lines ${OF} AND seq = 0`, ['lines']],
    ['completed', `DELETE FROM batch_results ${OF} AND seq = 2`, ['results', 'usage', 'charges']],
    ['completed', `UPDATE batch_results SET body = NULL, error = '{}' ${OF} AND seq = 2`, ['results']],
    ['completed', `UPDATE batches SET completed = 7 WHERE number = $1`, ['results', 'counts']],
    ['completed', `UPDATE batches SET completed = 0, failed = 0 WHERE number = $1`, ['results', 'counts']],
    ['completed', `UPDATE batches SET usage = '{"cost": 1}' WHERE number = $1`, ['usage']],
    ['completed', `UPDATE batch_results SET cost_usd = cost_usd + 1 ${OF} AND seq = 1`, ['usage', 'charges']],
    [
      'running',
      `DELETE FROM ledger_transfers WHERE reference IN (SELECT generation_id FROM batch_results ${OF} AND seq = 1)`,
      ['charges'],
    ],
    [
      'running',
      `UPDATE ledger_transfers SET amount_usd = 1 WHERE reference IN (SELECT generation_id FROM batch_results ${OF} AND seq = 1)`,
      ['charges'],
    ],
    [
      'running',
      `UPDATE ledger_holds SET settled_usd = 9 WHERE id IN (SELECT id FROM batches WHERE number = $1)`,
      ['charges'],
    ],
    ['running', `DELETE FROM batch_segments ${OF} AND number = 1`, ['segments']],
    ['running', `UPDATE batch_segments SET completed = 0 ${OF} AND number = 0`, ['segments']],
    [
      'completed',
      `INSERT INTO batch_segments (batch_number, created_on, number, first_seq, last_seq) VALUES ($1, now(), 0, 0, 3)`,
      ['segments'],
    ],
    [
      'completed',
      `UPDATE ledger_holds SET state = 'open', resolved_at = NULL WHERE id IN (SELECT id FROM batches WHERE number = $1)`,
      ['hold'],
    ],
    ['running', `DELETE FROM ledger_holds WHERE id IN (SELECT id FROM batches WHERE number = $1)`, ['charges', 'hold']],
    ['failed in validation', `UPDATE batches SET failed = 8 WHERE number = $1`, ['counts']],
  ];

  it.each(defects)('finds one that is %s after: %s', async (stage, defect, kinds) => {
    await completed();
    const batch = await STAGES[stage]();
    expect(await opened.database.execute({ sql: defect, values: [batch.number] })).toBeGreaterThan(0);
    const { checked, findings } = await found();
    expect(checked).toBe(2);
    expect(findings).toEqual([expect.objectContaining({ id: batch.id, number: String(batch.number) })]);
    expect(findings[0]!.problems.map(({ kind }) => kind)).toEqual(kinds);
  });

  it('finds one that failed because results were lost, however it ended', async () => {
    const batch = await running();
    await opened.database.execute({ sql: `DELETE FROM batch_results ${OF} AND seq = 2`, values: [batch.number] });
    await batches.beginFinalizing(batch.number);
    await batches.complete(batch.id, ({ costUsd }) => ({ cost: Number(costUsd) }));
    const [finding] = (await found()).findings;
    expect(finding).toMatchObject({ id: batch.id, status: 'failed' });
    expect(finding!.problems.map(({ message }) => message)).toContain('7 results for 8 requests');
  });

  it('finds segments of a batch that is not there', async () => {
    const batch = await storeBatch(opened.database, LINES);
    await opened.database.execute({ sql: 'DELETE FROM batches' });
    expect((await found()).findings).toEqual([
      expect.objectContaining({ id: null, number: String(batch.number), status: null }),
    ]);
  });

  it('asks nothing of what its owner or the retention has removed', async () => {
    const [deleted, old] = [await completed(), await completed()];
    await opened.database.execute({ sql: 'DELETE FROM batch_lines' });
    await opened.database.execute({ sql: 'DELETE FROM batch_results' });
    await opened.database.execute({ sql: 'UPDATE batches SET deleted_at = now() WHERE id = $1', values: [deleted.id] });
    await opened.database.execute({
      sql: `UPDATE batches SET created_at = now() - interval '31 days' WHERE id = $1`,
      values: [old.id],
    });
    expect(await found()).toEqual({ checked: 2, findings: [] });
    await opened.database.execute({ sql: `UPDATE batches SET usage = '{"cost": 3}'` });
    expect((await found()).findings.map(({ problems }) => problems[0]!.kind)).toEqual(['usage', 'usage']);
  });

  it('checks all of many batches, and with a date those from then on', async () => {
    const all = [];
    for (let count = 0; count < 45; count += 1) all.push(await storeBatch(opened.database, 1));
    expect(await found()).toEqual({ checked: 45, findings: [] });
    await opened.database.execute({
      sql: `UPDATE batches SET created_at = now() - interval '9 days', created_on = current_date - 9 WHERE number <= $1`,
      values: [all[29]!.number],
    });
    // Their lines are in the partition of another day: they would be found.
    expect(await found(new Date(Date.now() - 86_400_000))).toEqual({ checked: 15, findings: [] });
  });

  it('reads lines, results and charges by their indexes, however many others there are', async () => {
    await completed();
    const { database } = opened;
    await database.execute({
      sql: `INSERT INTO ledger_transfers (reference, kind, debit_account, credit_account, amount_usd)
            SELECT 'other-' || g, 'charge', 'org:x', 'revenue', 1 FROM generate_series(1, 20000) g`,
    });
    await database.execute({ sql: 'ANALYZE' });
    const scans = async (): Promise<unknown> => {
      await database.execute({ sql: 'SELECT pg_stat_force_next_flush()' });
      return database.rows({
        sql: `SELECT relname, seq_scan::integer AS n FROM pg_stat_user_tables
              WHERE relname ~ '^(batch_lines|batch_results|ledger_transfers)' ORDER BY relname`,
      });
    };
    const before = await scans();
    expect((await found()).findings).toEqual([]);
    expect(await scans()).toEqual(before);
    await database.execute({ sql: 'SELECT sum(amount_usd) FROM ledger_transfers' });
    expect(await scans()).not.toEqual(before);
  });
});
