import { batchesOf, openTestDatabase, storeBatch, type OpenTestDatabase, type StoredBatch } from '../testing';
import { BatchChecksRepository, type BatchFinding } from './batch-checks.repository';
import type { BatchProblemKind } from './batch-figures';
import type { BatchesRepository } from './batches.repository';
import { BatchStages, LINES } from './testing/batch-stages';

describe(BatchChecksRepository.name, () => {
  let opened: OpenTestDatabase;
  let batches: BatchesRepository;
  let checks: BatchChecksRepository;
  let stages: BatchStages;

  beforeAll(async () => {
    opened = await openTestDatabase();
    batches = batchesOf(opened.database);
    checks = new BatchChecksRepository(opened.database);
    stages = new BatchStages(opened.database);
  });

  afterAll(() => opened.close());

  beforeEach(async () => {
    const sql = 'TRUNCATE batches, batch_lines, batch_results, batch_segments, ledger_holds, ledger_transfers';
    await opened.database.execute({ sql });
  });

  const STAGES = {
    validating: () => stages.accepted(),
    running: () => stages.running(),
    finalizing: () => stages.finalizing(),
    completed: () => stages.completed(),
    'completed on an own key': () => stages.completedOnOwnKey(),
    'completed with errors': () => stages.completedWithErrors(),
    'failed in validation': () => stages.failedValidation(),
    'failed midway': () => stages.failedMidway(),
    cancelling: () => stages.cancelling(),
    cancelled: () => stages.cancelled(),
    'cancelled before it began': () => stages.cancelledBeforeItBegan(),
    expired: () => stages.expired(),
    'removed by its owner': () => stages.removedByItsOwner(),
    'past its retention': () => stages.pastItsRetention(),
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
    expect(await found()).toEqual({ checked: Object.keys(STAGES).length, findings: [] });
  });

  const OF = 'WHERE batch_number = $1';
  const defects: [keyof typeof STAGES, string, BatchProblemKind[]][] = [
    ['validating', `DELETE FROM batch_lines ${OF} AND seq = 7`, ['lines']],
    ['running', `UPDATE batch_lines SET seq = 100 ${OF} AND seq = 3`, ['lines', 'results']],
    ['completed', `DELETE FROM batch_lines ${OF} AND seq = 0`, ['lines', 'results']],
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
    await stages.completed();
    const batch = await STAGES[stage]();
    expect(await opened.database.execute({ sql: defect, values: [batch.number] })).toBeGreaterThan(0);
    const { checked, findings } = await found();
    expect(checked).toBe(2);
    expect(findings).toEqual([expect.objectContaining({ id: batch.id, number: String(batch.number) })]);
    expect(findings[0]!.problems.map(({ kind }) => kind)).toEqual(kinds);
  });

  const CHARGE = `WHERE kind = 'charge' AND reference = (SELECT generation_id FROM batch_results ${OF} AND seq = 1)`;
  const USAGE = (path: string): string =>
    `UPDATE batches SET usage = jsonb_set(usage, '{${path}}', '123456') WHERE number = $1`;
  const extraCharge = (amountUsd: string): string => `
    INSERT INTO ledger_transfers (reference, kind, debit_account, credit_account, amount_usd, workspace_id, api_key_hash)
    SELECT 'gen-' || left(id, -6) || 'zzzzzz', 'charge', 'org:' || organization_id, 'revenue', ${amountUsd}, workspace_id,
      api_key_hash FROM batches WHERE number = $1`;
  const disagreements: [string, keyof typeof STAGES, string, BatchProblemKind, string][] = [
    [
      'a result beyond its last request',
      'completed',
      `UPDATE batch_results SET seq = 100 ${OF} AND seq = 3`,
      'results',
      '1 results have no line with their seq and custom_id',
    ],
    [
      'a result before its first request',
      'cancelled',
      `UPDATE batch_results SET seq = -1 ${OF} AND seq = 3`,
      'results',
      '1 results have no line with their seq and custom_id',
    ],
    [
      'a result with the custom_id of another request, while it runs',
      'running',
      `UPDATE batch_results SET custom_id = 'line-2' ${OF} AND seq = 3`,
      'results',
      '1 results have no line with their seq and custom_id',
    ],
    ['a charge without a result', 'completed', extraCharge('0.5'), 'charges', '1 charges belong to no result'],
    [
      'a charge without a result, while it runs',
      'running',
      extraCharge('0.02'),
      'charges',
      '1 charges belong to no result',
    ],
    [
      'a charge although its validation failed',
      'failed in validation',
      extraCharge('0.02'),
      'charges',
      '1 charges belong to no result',
    ],
    [
      'a result that names the charge of another',
      'completed',
      `UPDATE batch_results r SET generation_id = o.generation_id FROM batch_results o
       WHERE r.batch_number = $1 AND o.batch_number = $1 AND r.seq = 3 AND o.seq = 4`,
      'charges',
      '1 charges belong to no result',
    ],
    [
      'a charge to another organization',
      'running',
      `UPDATE ledger_transfers SET debit_account = 'org:other' ${CHARGE}`,
      'charges',
      '1 charges name another account, workspace or key',
    ],
    [
      'a charge to another workspace',
      'completed',
      `UPDATE ledger_transfers SET workspace_id = gen_random_uuid() ${CHARGE}`,
      'charges',
      '1 charges name another account, workspace or key',
    ],
    [
      'a charge to no key',
      'completed',
      `UPDATE ledger_transfers SET api_key_hash = NULL ${CHARGE}`,
      'charges',
      '1 charges name another account, workspace or key',
    ],
    [
      'a charge in favour of another account',
      'completed',
      `UPDATE ledger_transfers SET credit_account = 'org:other' ${CHARGE}`,
      'charges',
      '1 charges name another account, workspace or key',
    ],
    [
      'a charge beyond its hold, although its results are removed',
      'removed by its owner',
      extraCharge('0.02'),
      'charges',
      'its hold was charged 0.160000000000, its lines 0.180000000000',
    ],
    [
      'a charge to another organization, although its results are past the retention',
      'past its retention',
      `UPDATE ledger_transfers SET debit_account = 'org:other' WHERE kind = 'charge' AND reference = (
         SELECT 'gen-' || left(id, -6) || '000003' FROM batches WHERE number = $1)`,
      'charges',
      '1 charges name another account, workspace or key',
    ],
    [
      'another prompt_tokens',
      'completed',
      USAGE('prompt_tokens'),
      'usage',
      'usage.prompt_tokens is 123456, its results have 56',
    ],
    [
      'another completion_tokens',
      'cancelled',
      USAGE('completion_tokens'),
      'usage',
      'usage.completion_tokens is 123456, its results have 25',
    ],
    [
      'another total_tokens',
      'expired',
      USAGE('total_tokens'),
      'usage',
      'usage.total_tokens is 123456, its results have 60',
    ],
    [
      'other cached tokens',
      'completed',
      USAGE('prompt_tokens_details, cached_tokens'),
      'usage',
      'usage.prompt_tokens_details.cached_tokens is 123456, its results have 24',
    ],
    [
      'other tokens written to caches',
      'completed',
      USAGE('prompt_tokens_details, cache_write_tokens'),
      'usage',
      'usage.prompt_tokens_details.cache_write_tokens is 123456, its results have 16',
    ],
    [
      'other reasoning tokens',
      'completed',
      USAGE('completion_tokens_details, reasoning_tokens'),
      'usage',
      'usage.completion_tokens_details.reasoning_tokens is 123456, its results have 32',
    ],
    [
      'audio tokens that no result has',
      'completed',
      USAGE('prompt_tokens_details, audio_tokens'),
      'usage',
      'usage.prompt_tokens_details.audio_tokens is 123456, its results have 0',
    ],
    [
      'another upstream cost',
      'completed on an own key',
      USAGE('cost_details, upstream_inference_cost'),
      'usage',
      'usage.cost_details.upstream_inference_cost is 123456, its results have 2.4',
    ],
    [
      'two segments for the same lines and none for others',
      'running',
      `UPDATE batch_segments SET first_seq = 0, last_seq = 3 ${OF} AND number = 1`,
      'segments',
      'its 2 segments do not cover lines 0 to 7 once each',
    ],
    [
      'results counted for another segment',
      'running',
      `UPDATE batch_segments SET completed = CASE number WHEN 0 THEN 1 ELSE 4 END ${OF}`,
      'segments',
      '2 segments count other results than their lines have',
    ],
  ];

  it.each(disagreements)('finds %s (%s)', async (_what, stage, defect, kind, message) => {
    await stages.completed();
    const batch = await STAGES[stage]();
    expect(await opened.database.execute({ sql: defect, values: [batch.number] })).toBeGreaterThan(0);
    const { findings } = await found();
    expect(findings).toEqual([expect.objectContaining({ id: batch.id, problems: [{ kind, message }] })]);
  });

  it('finds one that failed because results were lost, however it ended', async () => {
    const batch = await stages.running(LINES);
    await opened.database.execute({ sql: `DELETE FROM batch_results ${OF} AND seq = 2`, values: [batch.number] });
    await batches.beginFinalizing(batch.number);
    await batches.complete(batch.id, ({ costUsd }) => ({ cost: Number(costUsd) }));
    const [finding] = (await found()).findings;
    expect(finding).toMatchObject({ id: batch.id, status: 'failed' });
    expect(finding!.problems.map(({ message }) => message)).toContain('7 results for 8 requests');
  });

  describe('with rows of a batch that is not there', () => {
    const gone = async (make: () => Promise<StoredBatch>, kept: string): Promise<StoredBatch> => {
      await stages.completed();
      const batch = await make();
      const of = { values: [batch.number] };
      const left = ['batch_lines', 'batch_results', 'batch_segments'].filter((table) => table !== kept);
      for (const table of left) await opened.database.execute({ sql: `DELETE FROM ${table} ${OF}`, ...of });
      if (kept !== 'ledger_transfers') {
        const sql = `DELETE FROM ledger_transfers t USING batches b
                     WHERE b.number = $1 AND left(t.reference, -6) = 'gen-' || left(b.id, -6)`;
        await opened.database.execute({ sql, ...of });
      }
      await opened.database.execute({ sql: 'DELETE FROM batches WHERE number = $1', ...of });
      await stages.completed();
      return batch;
    };

    it.each([
      ['lines', 'batch_lines', '8 lines of a batch that is not there'],
      ['results', 'batch_results', '8 results of a batch that is not there'],
      ['segments', 'batch_segments', '2 segments of a batch that is not there'],
    ])('finds %s by their number', async (kind, table, message) => {
      const batch = await gone(() => stages.finalizing(), table);
      expect(await found()).toEqual({
        checked: 2,
        findings: [{ id: null, number: String(batch.number), status: null, problems: [{ kind, message }] }],
      });
    });

    it('finds charges by the id of their batch', async () => {
      const { id } = await gone(() => stages.completed(), 'ledger_transfers');
      const message = `8 charges of a batch that is not there: its id begins with ${id.slice(0, -6)}`;
      expect(await found()).toEqual({
        checked: 2,
        findings: [{ id: null, number: null, status: null, problems: [{ kind: 'charges', message }] }],
      });
    });

    it('names all rows of it together', async () => {
      const batch = await stages.finalizing();
      await opened.database.execute({ sql: 'DELETE FROM batches' });
      const { findings } = await found();
      expect(findings.map(({ number, problems }) => [number, problems.map(({ kind }) => kind)])).toEqual([
        [String(batch.number), ['lines', 'results', 'segments']],
        [null, ['charges']],
      ]);
    });

    it('looks for lines and charges from a date on only', async () => {
      await gone(() => stages.completed(), 'batch_lines');
      await stages.completed();
      await opened.database.execute({
        sql: `UPDATE batches SET created_at = now() - interval '9 days', created_on = current_date - 9`,
      });
      expect(await found(new Date())).toEqual({ checked: 0, findings: [] });
    });

    it('takes no upload that is under way for one', async () => {
      const { number } = await stages.accepted();
      const sql = `UPDATE batches SET status = 'receiving' WHERE number = $1`;
      await opened.database.execute({ sql, values: [number] });
      expect(await found()).toEqual({ checked: 0, findings: [] });
    });
  });

  it('asks nothing of what its owner or the retention has removed', async () => {
    const [deleted, old] = [await stages.completed(), await stages.completed()];
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
    await stages.completed();
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
