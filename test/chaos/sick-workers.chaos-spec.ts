import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { startBatchInstallation, type BatchInstallation } from '../support/batch-installation';
import { BatchRun } from '../support/batch-run';
import { catalogueOf, type TestPrices } from '../support/catalogue';
import { findViolations } from '../support/checker';
import { eventually } from '../support/eventually';
import type { UpstreamScript } from '../support/upstream';

/**
 * Two workers, and one has a trouble of its own: it cannot reach the provider, or its clock is wrong. It takes a
 * batch first. It must leave the lines to the other, and end none.
 */
const LINES = 400;
const CONCURRENCY = 16;
const PRICES: TestPrices = { prompt: '0.000000123', completion: '0.000000457' };
const SCRIPTS = {
  unreachable: { latencyMs: 20 },
  ahead: { latencyMs: 20 },
} as const satisfies Readonly<Record<string, UpstreamScript>>;
const END_MS = 120_000;
const BOOT_TIMEOUT_MS = 240_000;
const CLOCK_AHEAD_MS = 25 * 3_600_000;

let started: BatchInstallation;

beforeAll(async () => {
  started = await startBatchInstallation({
    scripts: SCRIPTS,
    pricing: PRICES,
    environment: { BATCH_CONCURRENCY: String(CONCURRENCY), BATCH_READS_PER_MINUTE: '100000' },
  });
  await started.installation.stopApp('batch-worker');
}, BOOT_TIMEOUT_MS);

afterAll(() => started?.stop(), BOOT_TIMEOUT_MS);

jest.setTimeout(4 * END_MS);

/** The same catalogue, with the provider at a port where nothing listens. */
async function catalogueOfNoOne(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  const { installation, upstream } = started;
  const models = upstream
    .models(SCRIPTS, { pricing: PRICES })
    .map((model) => ({ ...model, baseUrl: model.baseUrl.replace(/:\d+/, `:${port}`) }));
  const file = join(installation.folder, 'unreachable.yaml');
  writeFileSync(file, catalogueOf(models));
  return file;
}

describe('a batch that a worker with a trouble of its own takes first', () => {
  it.each([
    ['it cannot reach the provider', 'unreachable', async () => ({ CATALOG_PATH: await catalogueOfNoOne() })],
    [
      'its clock is 25 hours ahead',
      'ahead',
      async () => ({
        NODE_OPTIONS: `--require=${join(__dirname, '../support/clock-ahead.cjs')}`,
        CLOCK_AHEAD_MS: String(CLOCK_AHEAD_MS),
      }),
    ],
  ] as const)('is run by the other worker: %s', async (_trouble, tag, environment) => {
    const { installation, upstream, client } = started;
    const plan = { tag, lines: LINES, model: `tests/${tag}`, prices: PRICES };
    const run = await BatchRun.submit(installation, upstream, client, plan);
    await installation.startApp('batch-worker', `${tag}-sick`, [await environment()]);
    await eventually('the worker has leased segments', END_MS, async () => {
      const leases = await installation.database.firstRow<{ n: number }>({
        sql: `SELECT count(*)::integer AS n FROM batch_segments s JOIN batches b ON b.number = s.batch_number
              WHERE b.id = $1 AND s.fence > 0`,
        values: [run.id],
      });
      return leases!.n > 0 ? true : undefined;
    });
    await installation.startApp('batch-worker', `${tag}-healthy`);
    // The one with the trouble runs on.
    await run.untilTerminal(END_MS);
    expect(findViolations(await run.history())).toEqual([]);
    expect(run.batch!.request_counts).toEqual({ total: LINES, completed: LINES, failed: 0 });
    await installation.stopApp(`${tag}-sick`);
    await installation.stopApp(`${tag}-healthy`);
  });
});
