import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startBatchInstallation, type BatchInstallation } from '../support/batch-installation';
import { BatchRun } from '../support/batch-run';
import { catalogueOf, type TestPrices } from '../support/catalogue';
import { findViolations } from '../support/checker';
import type { ApiClient } from '../support/client';
import { eventually } from '../support/eventually';
import type { UpstreamCall, UpstreamScript } from '../support/upstream';

/**
 * Batches whose provider, key or catalogue fails for a while: their lines wait, and end as if nothing had been. Each
 * test has a provider of its own. `SLUICE_CHAOS=full` runs more lines and longer outages.
 */
const FULL = process.env.SLUICE_CHAOS === 'full';

const LINES = FULL ? 5_000 : 1_000;
const OUTAGE_SECONDS = FULL ? 60 : 15;
const SHORT_OUTAGE_MS = 5_000;
const CONCURRENCY = 16;
/** A probe comes half a minute after the last one at most, and a busy machine takes its time. */
const END_MS = 120_000;
const BOOT_TIMEOUT_MS = 240_000;
const PRICES: TestPrices = { prompt: '0.000000123', completion: '0.000000457' };
const STEADY: UpstreamScript = { latencyMs: 20 };
/** So long before its window ends, a line whose try fails ends with that. */
const MARGIN_SECONDS = 120;

const SCRIPTS = {
  closing: STEADY,
  refusing: STEADY,
  removed: STEADY,
  poisoned: { latencyMs: 400, poisoned: ['poisoned-100'] },
  ending: { outage: 'closes' },
} as const satisfies Readonly<Record<string, UpstreamScript>>;
type Script = keyof typeof SCRIPTS;

let started: BatchInstallation;
let upstream: BatchInstallation['upstream'];
let installation: BatchInstallation['installation'];
let client: ApiClient;

beforeAll(async () => {
  started = await startBatchInstallation({
    scripts: SCRIPTS,
    pricing: PRICES,
    environment: { BATCH_CONCURRENCY: String(CONCURRENCY), BATCH_READS_PER_MINUTE: '100000' },
  });
  ({ upstream, installation, client } = started);
}, BOOT_TIMEOUT_MS);

afterAll(() => started?.stop(), BOOT_TIMEOUT_MS);

beforeEach(() => upstream.forget());

jest.setTimeout(3 * END_MS);

function submit(script: Script, lines: number): Promise<BatchRun> {
  const plan = { tag: script, lines, model: `tests/${script}`, prices: PRICES };
  return BatchRun.submit(installation, upstream, client, plan);
}

async function expectAllCompleted(run: BatchRun, lines: number): Promise<readonly UpstreamCall[]> {
  await run.untilTerminal(END_MS + OUTAGE_SECONDS * 1_000);
  const history = await run.history();
  expect(findViolations(history)).toEqual([]);
  expect(run.batch!.request_counts).toEqual({ total: lines, completed: lines, failed: 0 });
  return history.calls.filter(({ behaviour }) => behaviour === 'outage');
}

async function openBreakers(provider: string): Promise<number> {
  const text = await (await fetch(`${installation.healthUrlOf('batch-worker')}/metrics`)).text();
  return Number(
    new RegExp(`^sluice_batch_breakers_open\\{.*provider="${provider}".*\\} (\\d+)$`, 'm').exec(text)?.[1] ?? 0,
  );
}

describe('a batch', () => {
  it('loses no line to a provider that closes every connection for a while, and calls it once a second then', async () => {
    const run = await submit('closing', LINES);
    await upstream.untilCalls(LINES * 0.4);
    await upstream.script('closing', { ...STEADY, outage: 'closes' });
    await delay((OUTAGE_SECONDS * 1_000) / 2);
    expect(await openBreakers('tests-closing')).toBe(1);
    await delay((OUTAGE_SECONDS * 1_000) / 2);
    await upstream.script('closing', STEADY);
    const lost = await expectAllCompleted(run, LINES);
    expect(lost.length).toBeGreaterThan(0);
    expect(lost.length).toBeLessThanOrEqual(2 * CONCURRENCY + OUTAGE_SECONDS);
    expect(await openBreakers('tests-closing')).toBe(0);
    process.stderr.write(`      ${lost.length} calls in an outage of ${OUTAGE_SECONDS} s\n`);
  });

  it('waits for the operator’s key to be good again', async () => {
    const run = await submit('refusing', 400);
    await upstream.untilCalls(100);
    await upstream.script('refusing', { ...STEADY, outage: 401 });
    await delay(SHORT_OUTAGE_MS);
    await upstream.script('refusing', STEADY);
    const refused = await expectAllCompleted(run, 400);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.length).toBeLessThanOrEqual(2 * CONCURRENCY + SHORT_OUTAGE_MS / 1_000);
  });

  it('waits for its endpoint to be in the catalogue again', async () => {
    const file = join(installation.folder, 'catalogue.yaml');
    const whole = readFileSync(file, 'utf8');
    const { removed: _removed, ...others } = SCRIPTS;
    const run = await submit('removed', 400);
    writeFileSync(file, catalogueOf(upstream.models(others, { pricing: PRICES })));
    await eventually('lines wait for the catalogue', END_MS, async () =>
      (await openBreakers('tests-removed')) > 0 ? true : undefined,
    );
    await delay(SHORT_OUTAGE_MS);
    writeFileSync(file, whole);
    await expectAllCompleted(run, 400);
  });

  it('ends the one line that its provider cannot cope with, and no other', async () => {
    const lines = 1_200;
    const run = await submit('poisoned', lines);
    await run.untilTerminal(END_MS);
    const history = await run.history();
    expect(findViolations(history)).toEqual([]);
    expect(run.batch!.request_counts).toEqual({ total: lines, completed: lines - 1, failed: 1 });
    const failed = run.batch!.results!.filter(({ error }) => error !== null);
    expect(failed).toMatchObject([{ custom_id: 'poisoned-100', error: { error_type: 'provider_unavailable' } }]);
    const tries = history.calls.filter(({ behaviour }) => behaviour === 'poisoned').length;
    // In one of its tries no other line may have been answered.
    expect(tries).toBeGreaterThanOrEqual(8);
    expect(tries).toBeLessThanOrEqual(10);
  });

  it('ends lines with what their provider said when their window is nearly over, and those never called as expired', async () => {
    const lines = 200;
    await installation.stopApp('batch-worker');
    const run = await submit('ending', lines);
    const leave = (seconds: number): Promise<number> =>
      installation.database.execute({
        sql: `UPDATE batches SET expires_at = now() + $2 * interval '1 second' WHERE id = $1`,
        values: [run.id, seconds],
      });
    await leave(MARGIN_SECONDS + 15);
    await installation.startApp('batch-worker');
    await upstream.untilCalls(CONCURRENCY);
    const errors = await eventually('lines end with what failed', END_MS, async () => {
      const rows = await installation.database.rows<{ error_type: string }>({
        sql: `SELECT error ->> 'error_type' AS error_type FROM batch_results r
              JOIN batches b ON b.number = r.batch_number WHERE b.id = $1`,
        values: [run.id],
      });
      return rows.length >= CONCURRENCY ? rows : undefined;
    });
    expect(new Set(errors.map(({ error_type: type }) => type))).toEqual(new Set(['provider_unavailable']));
    await leave(0);
    await run.untilTerminal(END_MS);
    expect(run.batch!.status).toBe('expired');
    expect(run.batch!.request_counts).toEqual({ total: lines, completed: 0, failed: lines });
    const called = new Set((await upstream.calls()).map(({ marker }) => marker));
    for (const { custom_id: customId, error } of run.batch!.results!) {
      const type = called.has(customId) ? 'server_error' : 'batch_expired';
      expect({ customId, type: error!.type }).toEqual({ customId, type });
    }
  });
});
