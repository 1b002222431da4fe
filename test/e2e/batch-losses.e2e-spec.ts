import { startBatchInstallation, type BatchInstallation } from '../support/batch-installation';
import { BatchRun } from '../support/batch-run';
import { findViolations } from '../support/checker';
import type { ApiClient, BatchBody } from '../support/client';
import { eventually } from '../support/eventually';
import { Operator } from '../support/operator';

const PRICES = { prompt: '0.000000123', completion: '0.000000457' };
const SCRIPTS = { fast: {}, slow: { latencyMs: 150 }, sticky: { hangShare: 1 } };
const END_MS = 30_000;
const LINES = 200;

interface Checked {
  readonly found: number;
  readonly batches: readonly { readonly id: string; readonly problems: readonly { readonly kind: string }[] }[];
}

let started: BatchInstallation;
let upstream: BatchInstallation['upstream'];
let installation: BatchInstallation['installation'];
let client: ApiClient;

beforeAll(async () => {
  started = await startBatchInstallation({
    scripts: SCRIPTS,
    pricing: PRICES,
    environment: { BATCH_CONCURRENCY: '16' },
  });
  ({ upstream, installation, client } = started);
}, 240_000);

afterAll(() => started?.stop(), 60_000);

function submit(tag: string, script: keyof typeof SCRIPTS, lines = LINES): Promise<BatchRun> {
  return BatchRun.submit(installation, upstream, client, { tag, lines, model: `tests/${script}`, prices: PRICES });
}

/** Deletes rows of a batch, as nothing of ours does. */
async function lose({ id }: BatchRun, rows: string): Promise<void> {
  const sql = `DELETE FROM ${rows} AND batch_number = (SELECT number FROM batches WHERE id = $1)`;
  expect(await installation.database.execute({ sql, values: [id] })).toBeGreaterThan(0);
}

async function counted(foundAt: string): Promise<number> {
  const text = await (await fetch(`${installation.healthUrlOf('batch-worker')}/metrics`)).text();
  const line = text
    .split('\n')
    .find((one) => one.startsWith('sluice_batches_inconsistent_total') && one.includes(foundAt));
  return Number(line?.split(' ').at(-1) ?? 0);
}

/** What the operator finds; `null` when nothing disagrees. */
async function findings(): Promise<Checked | null> {
  const checking = new Operator(installation).run<Checked>('batches', 'check');
  const failed = await checking.then(
    ({ found }) => ({ found }),
    (error: { readonly code?: unknown; readonly stdout?: string }) => error,
  );
  if ('found' in failed) return null;
  expect(failed.code).toBe(1);
  return JSON.parse(failed.stdout ?? '') as Checked;
}

const idsOf = ({ results }: BatchBody): string[] => (results ?? []).map(({ custom_id: id }) => id);

describe('a batch that cannot be read again after its acceptance', () => {
  it('is answered with 202, keeps its lines and completes', async () => {
    await installation.database.execute({ sql: 'REVOKE SELECT ON batches FROM sluice_tenant' });
    const submitted = submit('unread', 'fast');
    await Promise.allSettled([submitted]);
    await installation.database.execute({ sql: 'GRANT SELECT ON batches TO sluice_tenant' });
    const run = await submitted;
    expect((await run.untilTerminal(END_MS)).status).toBe('completed');
    expect(findViolations(await run.history())).toEqual([]);
    expect(await findings()).toBeNull();
  });
});

describe('a batch that lost something', () => {
  it('fails when results are gone, shows what is there, and is found by the operator', async () => {
    const run = await submit('results', 'slow');
    await eventually('results', END_MS, async () => {
      const [row] = await installation.database.rows<{ n: number }>({
        sql: `SELECT count(*)::integer AS n FROM batch_results r JOIN batches b ON b.number = r.batch_number WHERE b.id = $1`,
        values: [run.id],
      });
      return row!.n >= 20 ? true : undefined;
    });
    await lose(run, 'batch_results WHERE seq < 5');
    await lose(run, 'batch_lines WHERE seq < 2');
    const batch = await run.untilTerminal(END_MS);
    expect(batch).toMatchObject({
      status: 'failed',
      request_counts: { total: LINES, completed: LINES - 5, failed: 5 },
    });
    expect(batch.error!.message).toContain(`5 of ${LINES} requests have no result`);
    expect(idsOf(batch)).toHaveLength(LINES - 2);
    expect(await counted('completion')).toBe(1);
    const checked = await findings();
    expect(checked).toMatchObject({ found: 1, batches: [{ id: run.id }] });
    expect(checked!.batches[0]!.problems.map(({ kind }) => kind)).toEqual(['lines', 'results', 'charges']);
    // What is there may be tried again.
    const again = await client.request<BatchBody>('POST', `/batches/${run.id}/retry`);
    expect(again).toMatchObject({ status: 202, body: { request_counts: { total: 3 } } });
  });

  it('is cancelled as its caller wished, and says what is gone', async () => {
    const run = await submit('lines', 'sticky', 40);
    // Past validation, which would end it as failed.
    await eventually('the batch is in progress', END_MS, async () =>
      (await client.getBatch(run.id)).body.status === 'in_progress' ? true : undefined,
    );
    // Requests that are being called have a result when they are called off; these are not.
    await lose(run, 'batch_lines WHERE seq IN (38, 39)');
    expect((await client.request('POST', `/batches/${run.id}/cancel`)).status).toBe(200);
    const batch = await run.untilTerminal(END_MS);
    expect(batch).toMatchObject({ status: 'cancelled', request_counts: { total: 40, completed: 0, failed: 40 } });
    expect(batch.error!.message).toBe('2 of 40 requests are not there: the service lost them');
    expect(idsOf(batch)).toHaveLength(38);
    expect(await counted('stop')).toBe(1);
  });
});
