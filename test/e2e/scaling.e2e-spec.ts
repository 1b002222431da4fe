import { chatRequests, linesOf } from '../support/batch-lines';
import { startBatchInstallation, type BatchInstallation } from '../support/batch-installation';
import { eventually } from '../support/eventually';

const BOOT_TIMEOUT_MS = 240_000;
const LINES = 4_000;
const CONCURRENCY = 4;
/** The forecast counts every ten seconds. */
const COUNTED_WITHIN_MS = 60_000;

let started: BatchInstallation;

beforeAll(async () => {
  started = await startBatchInstallation({
    apps: ['auth', 'batch-worker', 'gateway', 'video-worker'],
    scripts: { slow: { latencyMs: 1_000 } },
    pricing: { prompt: '0.000000246', completion: '0.000000914' },
    environment: { BATCH_CONCURRENCY: String(CONCURRENCY), BATCH_GOAL_MINUTES: '1' },
  });
}, BOOT_TIMEOUT_MS);

afterAll(() => started?.stop(), BOOT_TIMEOUT_MS);

async function scalingOf(app: string): Promise<{ status: number; body: Record<string, number> }> {
  const response = await fetch(`${started.installation.healthUrlOf(app)}/scaling`);
  return { status: response.status, body: (await response.json()) as Record<string, number> };
}

const whenCounted = (app: string, isIt: (body: Record<string, number>) => boolean): Promise<Record<string, number>> =>
  eventually(`${app} counts the work`, COUNTED_WITHIN_MS, async () => {
    const { status, body } = await scalingOf(app);
    return status === 200 && isIt(body) ? body : undefined;
  });

describe('autoscalers', () => {
  it('get zero while there is no work', async () => {
    expect(await whenCounted('batch-worker', () => true)).toEqual({
      workers_wanted: 0,
      open_lines: 0,
      calls_wanted: 0,
    });
    expect(await whenCounted('video-worker', () => true)).toEqual({
      workers_wanted: 0,
      steps_under_way: 0,
      submissions_due: 0,
      polls_due: 0,
      deliveries: 0,
    });
  });

  it('get more workers for one large batch, in /metrics too', async () => {
    const { status } = await started.client.submitBatch({
      endpoint: '/v1/chat/completions',
      model: 'tests/slow',
      requests: chatRequests(linesOf('scaled', LINES)),
    });
    expect(status).toBe(202);
    const { workers_wanted: workers, open_lines: lines } = await whenCounted(
      'batch-worker',
      ({ open_lines: open }) => (open ?? 0) > 0,
    );
    expect(lines).toBeGreaterThan(LINES / 2);
    expect(workers).toBeGreaterThan(1);
    const metrics = await (await fetch(`${started.installation.healthUrlOf('batch-worker')}/metrics`)).text();
    expect(metrics).toMatch(/^sluice_workers_wanted\{app="batch-worker"\} ([2-9]|[1-9]\d)/m);
  });

  it('get 404 from an app that does not scale by its work', async () => {
    expect((await scalingOf('gateway')).status).toBe(404);
  });
});
