import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { newBrokerKeys } from '@libs/contracts';
import { createDataSource, Database } from '@libs/persistence';
import { appUrlOf, createTestDatabase, storeVideo } from '@libs/persistence/testing';
import { freePorts } from '../scripts/services/ports';
import { answers, BenchProcess, untilReady } from './support/child-process';
import { runBenchmark } from './support/comparison';
import { brokerEnvironment, ownVirtualHost, type Undo } from './support/installation';
import { rounded } from './support/statistics';

/**
 * Measures what many open jobs that do not end cost a video worker: its share of one core. The jobs are old enough
 * to be polled at the longest interval.
 */
const JOBS = 1_000;
const SECONDS = Number(process.env.BENCH_ROUND_SECONDS ?? 40);
/** Longer than the longest time between two polls of a job. */
const WARM_UP_SECONDS = 25;
const WORKER = resolve(__dirname, '../apps/video-worker/main.js');

/** A provider whose jobs are all running. */
class BusyProvider {
  polls = 0;
  readonly #server: Server = createServer((request, response) => {
    this.polls += 1;
    const id = request.url?.split('/').at(-1);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ id, object: 'video', status: 'in_progress', progress: 40 }));
  });

  async start(undo: Undo[]): Promise<string> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done));
    undo.push(() => {
      this.#server.closeAllConnections();
      this.#server.close();
    });
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }
}

function writeCatalogue(baseUrl: string, undo: Undo[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  undo.push(() => rmSync(folder, { recursive: true }));
  const provider = { slug: 'vendor', name: 'Vendor', base_url: baseUrl, protocol: 'openai' };
  const endpoint = { provider: 'vendor', upstream_model: 'film', apis: ['video'], pricing: { video: '0.5' } };
  const model = { slug: 'vendor/film', name: 'Film', created: 1_760_000_000, endpoints: [endpoint] };
  // JSON is YAML.
  writeFileSync(join(folder, 'bench.yaml'), JSON.stringify({ providers: [provider], models: [model] }));
  return folder;
}

/** Jobs that were submitted long ago, their next polls spread over the time between two. */
async function storeOpenJobs(database: Database): Promise<void> {
  for (let n = 0; n < JOBS; n += 1) await storeVideo(database);
  await database.execute({
    sql: `UPDATE videos SET step = 'poll', request = NULL, operation = json_build_object('id', 'video_' || id),
            status = 'in_progress', attempts = 20, next_at = now() + random() * interval '20 seconds'`,
  });
  await database.execute({ sql: 'DELETE FROM outbox' });
}

async function measure(undo: Undo[]): Promise<object> {
  const created = await createTestDatabase({ logins: true });
  undo.push(() => created.drop());
  const dataSource = createDataSource({ url: created.url, applicationName: 'bench', poolSize: 2 });
  await dataSource.initialize();
  undo.push(() => dataSource.destroy());
  await storeOpenJobs(new Database(dataSource));
  const provider = new BusyProvider();
  const catalogue = writeCatalogue(await provider.start(undo), undo);
  const [healthPort = 0] = await freePorts(1);
  const worker = BenchProcess.start('video-worker', [WORKER], {
    ...process.env,
    NODE_ENV: 'production',
    DATABASE_URL: appUrlOf('video-worker', created.url),
    AMQP_URL: ownVirtualHost(process.env.AMQP_URL ?? 'amqp://guest:guest@127.0.0.1:5672', undo),
    ...brokerEnvironment('video-worker', newBrokerKeys()),
    CATALOG_PATH: catalogue,
    HEALTH_PORT: String(healthPort),
    DRAIN_DELAY_MS: '0',
    LOG_LEVEL: 'warn',
  });
  undo.push(() => worker.stop());
  await untilReady(worker, () => answers(`http://127.0.0.1:${healthPort}/health/ready`));
  await delay(WARM_UP_SECONDS * 1_000);
  const before = { cpu: worker.cpuMicros(), polls: provider.polls, ms: performance.now() };
  await delay(SECONDS * 1_000);
  const seconds = (performance.now() - before.ms) / 1_000;
  const polls = provider.polls - before.polls;
  return {
    benchmark: 'videos',
    open_jobs: JOBS,
    seconds: rounded(seconds, 1),
    polls,
    polls_per_second: rounded(polls / seconds, 1),
    cpu_percent_of_one_core: rounded((worker.cpuMicros() - before.cpu) / 10_000 / seconds, 2),
    resident_mebibytes: worker.residentMebibytes(),
  };
}

runBenchmark(async () => {
  const undo: Undo[] = [];
  try {
    return await measure(undo);
  } finally {
    for (const step of undo.toReversed()) await step();
  }
});
