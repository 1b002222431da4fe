import { startBatchInstallation, type BatchInstallation } from '../support/batch-installation';
import { BatchRun } from '../support/batch-run';
import { eventually } from '../support/eventually';
import { Operator } from '../support/operator';

/** Lines to which their provider always answers 500, at the head of a batch: enough to open the breaker of the model. */
const BAD = 8;
const GOOD = 8;
const OF_STRANGER = 20;
/** Four lines with it fill a segment. */
const FILLER = 'something '.repeat(30_000);
const PRICES = { prompt: '0.000000001', completion: '0.000000001' };
const BOOT_MS = 240_000;
const PATIENCE_MS = 300_000;

let started: BatchInstallation;

beforeAll(async () => {
  const poisoned = Array.from({ length: BAD }, (_, line) => `bad-${line}`);
  started = await startBatchInstallation({
    scripts: { shared: { latencyMs: 20, poisoned } },
    pricing: PRICES,
    environment: { BATCH_CONCURRENCY: '4', BATCH_READS_PER_MINUTE: '100000' },
  });
}, BOOT_MS);

afterAll(() => started?.stop(), BOOT_MS);

async function submitMixed(): Promise<void> {
  const markers = Array.from({ length: BAD + GOOD }, (_, line) => (line < BAD ? `bad-${line}` : `good-${line}`));
  const requests = markers.map((marker) => ({
    custom_id: marker,
    body: { messages: [{ role: 'user', content: `[[${marker}]] ${FILLER}` }], max_tokens: 16 },
  }));
  const batch = { endpoint: '/v1/chat/completions', model: 'tests/shared', requests };
  const { status, text } = await started.client.submitBatch(batch);
  if (status !== 202) throw new Error(text);
}

describe('lines that always fail at a provider that answers all others', () => {
  it(
    'keep neither the lines behind them nor the batch of another tenant from being called',
    async () => {
      await submitMixed();
      await eventually('the failure of a bad line', PATIENCE_MS, async () => {
        const calls = await started.upstream.calls();
        return calls.some(({ marker }) => marker.startsWith('bad-')) || undefined;
      });
      const { apiKey } = await new Operator(started.installation).createTenant('Stranger', '100');
      const stranger = started.installation.client(apiKey);
      const run = await BatchRun.submit(started.installation, started.upstream, stranger, {
        tag: 'stranger',
        lines: OF_STRANGER,
        model: 'tests/shared',
        prices: PRICES,
      });
      await run.untilTerminal(PATIENCE_MS);
      await eventually('calls of all lines behind the bad ones', PATIENCE_MS, async () => {
        const good = (await started.upstream.calls()).filter(({ marker }) => marker.startsWith('good-'));
        return new Set(good.map(({ marker }) => marker)).size === GOOD || undefined;
      });
      await stranger.close();
    },
    2 * PATIENCE_MS + BOOT_MS,
  );
});
