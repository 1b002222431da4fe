import { startBatchInstallation, type BatchInstallation } from '../support/batch-installation';
import { Operator } from '../support/operator';
import { longHosts } from './long-hosts';
import { IS_FULL, report } from '../support/scale';

const PRICING = { prompt: '0.00000001', completion: '0.00000001' };
const MIB = 1_024 * 1_024;

let system: BatchInstallation;
beforeAll(async () => {
  system = await startBatchInstallation({ scripts: { talks: { latencyMs: 10 } }, environment: {}, pricing: PRICING });
});
afterAll(async () => system?.stop(), 60_000);

async function msOfHealth(): Promise<number> {
  const startedMs = performance.now();
  const url = `${system.installation.healthUrlOf('batch-worker')}/health/live`;
  await fetch(url).then((response) => response.arrayBuffer());
  return Math.round(performance.now() - startedMs);
}

const batchOf = (bodies: readonly object[]): object => ({
  endpoint: '/v1/chat/completions',
  model: 'tests/talks',
  requests: bodies.map((body, index) => ({
    custom_id: `c${index}`,
    body: { messages: [{ role: 'user', content: 'hi' }], max_tokens: 8, ...body },
  })),
});

/** Numbers cost a check more than their bytes suggest, and each of them is one value. */
const numbers = (count: number): number[] => Array.from({ length: count }, () => 7);

describe('the lines of a batch', () => {
  it.each([
    ['links with long hosts', () => [0, 1, 2].map(() => ({ links: longHosts(1.5 * MIB) }))],
    ['many values', () => Array.from({ length: IS_FULL ? 24 : 8 }, () => ({ values: numbers(250_000) }))],
  ])(
    'do not hold the batches of others up: %s',
    async (what, bodies) => {
      const { installation } = system;
      const hostile = installation.client((await new Operator(installation).createTenant('hostile', '10')).apiKey);
      const other = installation.client();
      await hostile.request('POST', '/batches', batchOf(bodies()));
      const startedMs = performance.now();
      const { id } = (await other.request('POST', '/batches', batchOf([{}]))).body as { id: string };
      let [worstMs, status] = [0, ''];
      while (status !== 'completed' && performance.now() - startedMs < 60_000) {
        worstMs = Math.max(worstMs, await msOfHealth());
        ({ status } = (await other.request('GET', `/batches/${id}`)).body as { status: string });
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      report({ lines: what, healthMs: worstMs, batchMs: Math.round(performance.now() - startedMs) });
      await Promise.all([hostile.close(), other.close()]);
      expect(status).toBe('completed');
      expect(worstMs).toBeLessThan(1_000);
    },
    120_000,
  );
});
