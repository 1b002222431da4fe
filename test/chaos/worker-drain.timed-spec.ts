import { setTimeout as delay } from 'node:timers/promises';
import { TcpProxy } from '@libs/platform/testing';
import { chatRequests, linesOf } from '../support/batch-lines';
import { catalogueOf } from '../support/catalogue';
import { eventually } from '../support/eventually';
import { Installation } from '../support/installation';
import { Upstream } from '../support/upstream';

/**
 * A batch worker gets SIGTERM while RabbitMQ is silent, so that leaving its queues takes long. Meanwhile it must
 * claim no segment, and begin no line whose call it would have to cut.
 */
const CONCURRENCY = 16;
const LATENCY_MS = 100;
const LINES = 4_000;
const BOOT_TIMEOUT_MS = 240_000;
const GONE_WITHIN_MS = 35_000;
const PRICING = { prompt: '0.000000246', completion: '0.000000914' };

let upstream: Upstream;
let installation: Installation;
let proxy: TcpProxy;

beforeAll(async () => {
  upstream = await Upstream.start({ lines: { latencyMs: LATENCY_MS } });
  installation = await Installation.start({
    apps: ['auth', 'batch-worker', 'gateway'],
    catalogue: catalogueOf(upstream.models({ lines: {} }, { pricing: PRICING, batchPricing: PRICING })),
    environment: { BATCH_CONCURRENCY: String(CONCURRENCY) },
    between: async (url) => {
      if (!url.startsWith('amqp')) return url;
      proxy = await TcpProxy.start(url);
      return proxy.through(url);
    },
  });
}, BOOT_TIMEOUT_MS);

afterAll(async () => {
  proxy?.release();
  await installation?.stop();
  await proxy?.close();
  await upstream?.stop();
}, BOOT_TIMEOUT_MS);

function hasEnded(pid: number): true | undefined {
  try {
    process.kill(pid, 0);
    return undefined;
  } catch {
    return true;
  }
}

describe('a batch worker that gets SIGTERM', () => {
  it('begins no more lines while RabbitMQ keeps it waiting', async () => {
    const client = installation.client();
    const { status } = await client.submitBatch({
      endpoint: '/v1/chat/completions',
      model: 'tests/lines',
      requests: chatRequests(linesOf('drained', LINES)),
    });
    expect(status).toBe(202);
    await eventually('lines are being called', 20_000, async () =>
      (await upstream.counts()).calls > 4 * CONCURRENCY ? true : undefined,
    );
    const pid = installation.pidOf('batch-worker');
    proxy.hold();
    const before = (await upstream.counts()).calls;
    process.kill(pid, 'SIGTERM');
    await eventually('the worker has ended', GONE_WITHIN_MS, () => hasEnded(pid) ?? delay(50).then(() => undefined));
    const after = (await upstream.counts()).calls;
    process.stderr.write(`${after - before} lines were begun after the signal\n`);
    // Those that began between the count and the signal, and none of the seconds after it.
    expect(after - before).toBeLessThanOrEqual(4 * CONCURRENCY);
    await client.close();
  }, 90_000);
});
