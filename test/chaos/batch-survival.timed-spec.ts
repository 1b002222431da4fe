import { queues } from '@libs/contracts';
import { purgeQueue, queueDepth } from '../support/broker';
import type { TestPrices } from '../support/catalogue';
import { startBatchInstallation, type BatchInstallation } from '../support/batch-installation';
import { BatchRun, type BatchPlan } from '../support/batch-run';
import { findViolations, repeatedAnswers } from '../support/checker';
import type { ApiClient } from '../support/client';
import { eventually } from '../support/eventually';
import type { BatchHistory } from '../support/history';
import type { UpstreamCall } from '../support/upstream';
import { say } from '../support/say';

/**
 * What a batch must survive: workers and gateways that are killed, a broker that goes away, messages that are lost,
 * providers that refuse, workers that sleep past their lease. After each, the checker looks at every line, every
 * charge and every call.
 *
 * `SLUICE_CHAOS=full` runs the long form: more lines, more kills, and the sleeping worker.
 */
const FULL = process.env.SLUICE_CHAOS === 'full';

const APPS = ['auth', 'batch-worker', 'gateway'] as const;
const CONCURRENCY = 32;
const LATENCY_MS = 20;
/** How long a dead worker's lines stay with it, and how often the others look for such lines. */
const LEASE_MS = 30_000;
const SWEEP_MS = 5_000;
/** Restart of the app, and the run itself on a busy machine. */
const MARGIN_MS = 30_000;
const BOOT_TIMEOUT_MS = 240_000;

const PRICING: TestPrices = { prompt: '0.000000246', completion: '0.000000914' };
const BATCH_PRICING: TestPrices = { prompt: '0.000000123', completion: '0.000000457' };

const STORM = { rateLimitedShare: 0.3, retryAfterSeconds: 1, serverErrorShare: 0.2, seed: 7 };
/**
 * What the death of a worker may cost in calls: those in flight, and the answers that waited for their group commit.
 * Far below the lines it had leased, which are several hundred.
 */
const MOST_REPEATED_PER_KILL = 4 * CONCURRENCY;

/** The calls one line may cost while its worker lives, beside those that its provider refused as too many. */
const MOST_TRIES = 8;

const SCRIPTS = {
  steady: { latencyMs: LATENCY_MS },
  stormy: { latencyMs: LATENCY_MS, ...STORM },
  slow: { latencyMs: 150 },
};

let started: BatchInstallation;
let upstream: BatchInstallation['upstream'];
let installation: BatchInstallation['installation'];
let client: ApiClient;

beforeAll(async () => {
  started = await startBatchInstallation({
    apps: APPS,
    scripts: SCRIPTS,
    pricing: PRICING,
    batchPricing: BATCH_PRICING,
    environment: { BATCH_CONCURRENCY: String(CONCURRENCY) },
  });
  ({ upstream, installation, client } = started);
}, BOOT_TIMEOUT_MS);

afterAll(() => started?.stop(), BOOT_TIMEOUT_MS);

beforeEach(() => upstream.forget());

function submit(plan: Pick<BatchPlan, 'tag' | 'lines'>, script: keyof typeof SCRIPTS = 'steady'): Promise<BatchRun> {
  return BatchRun.submit(installation, upstream, client, { ...plan, model: `tests/${script}`, prices: BATCH_PRICING });
}

async function expectSound(run: BatchRun): Promise<BatchHistory> {
  const history = await run.history();
  expect(findViolations(history)).toEqual([]);
  return history;
}

/** Statuses with which looks at the batch failed meanwhile; 0 is no answer at all. */
function failedStatuses(...runs: readonly BatchRun[]): number[] {
  return [...new Set(runs.flatMap(({ failedLooks }) => failedLooks.map(({ status }) => status)))].toSorted(
    (one, other) => one - other,
  );
}

function deaths(): number[] {
  return APPS.map((app) => installation.deathsOf(app));
}

describe('a batch', () => {
  it(
    'has one result for each request, and asks the upstream once for each',
    async () => {
      const run = await submit({ tag: 'calm', lines: 1_000 });
      await run.untilTerminal(MARGIN_MS);
      const history = await expectSound(run);
      expect(run.batch?.request_counts).toEqual({ total: 1_000, completed: 1_000, failed: 0 });
      expect(history.calls).toHaveLength(1_000);
      expect(run.failedLooks).toEqual([]);
    },
    2 * MARGIN_MS,
  );

  it(
    'survives the death of its worker, twice, and of the gateway',
    async () => {
      const lines = FULL ? 10_000 : 1_000;
      const run = await submit({ tag: 'killed', lines });
      await upstream.untilCalls(lines * 0.25);
      await installation.kill9('batch-worker');
      await installation.kill9('gateway');
      await upstream.untilCalls(lines * 0.45);
      await installation.kill9('batch-worker');
      const kills = 2;

      await run.untilTerminal(kills * (LEASE_MS + SWEEP_MS) + MARGIN_MS);

      const history = await expectSound(run);
      expect(run.batch?.request_counts).toEqual({ total: lines, completed: lines, failed: 0 });
      const repeated = repeatedAnswers(history);
      say(`${kills} kills of a worker with ${CONCURRENCY} calls at a time: ${repeated} answers were asked for again`);
      expect(repeated).toBeLessThanOrEqual(kills * MOST_REPEATED_PER_KILL);
    },
    3 * (LEASE_MS + SWEEP_MS + MARGIN_MS),
  );

  it(
    'does not notice that the broker restarts, and the one after it does not notice that it died',
    async () => {
      const before = deaths();
      const restarted = await submit({ tag: 'restarted', lines: 1_000 });
      await upstream.untilCalls(200);
      const endOfRestarted = restarted.untilTerminal(2 * MARGIN_MS);
      await installation.broker.restart();
      await endOfRestarted;
      await expectSound(restarted);
      await installation.untilReady();

      const died = await submit({ tag: 'died', lines: 1_000 });
      await upstream.untilCalls(1_200);
      const endOfDied = died.untilTerminal(2 * MARGIN_MS);
      await installation.broker.kill9();
      await installation.broker.restart();
      await endOfDied;
      await expectSound(died);

      await installation.untilReady();
      const after = await submit({ tag: 'afterwards', lines: 50 });
      await after.untilTerminal(MARGIN_MS);
      await expectSound(after);
      expect(deaths()).toEqual(before);
      // Who is calling cannot be asked then; that is our trouble, never the caller's, and it is answered.
      expect(failedStatuses(restarted, died).filter((status) => status < 500)).toEqual([]);
      say(`looks that failed while the broker was away: ${failedStatuses(restarted, died).join(', ') || 'none'}`);
    },
    10 * MARGIN_MS,
  );

  it(
    'runs although every message about it was lost',
    async () => {
      await installation.stopApp('batch-worker');
      const run = await submit({ tag: 'unheard', lines: 200 });
      await eventually('the message waits in its queue', MARGIN_MS, async () =>
        (await queueDepth(installation.broker.url, queues.batches.name)) > 0 ? true : undefined,
      );
      expect(await purgeQueue(installation.broker.url, queues.batches.name)).toBe(1);
      await installation.startApp('batch-worker');
      await run.untilTerminal(MARGIN_MS);
      await expectSound(run);
    },
    4 * MARGIN_MS,
  );

  it(
    'waits when its provider asks for it, tries again within bounds, and ends with a result or an error for each line',
    async () => {
      const lines = FULL ? 1_000 : 300;
      const run = await submit({ tag: 'stormy', lines }, 'stormy');
      await run.untilTerminal(lines * 200 + MARGIN_MS);
      const { calls } = await expectSound(run);

      const tries = Map.groupBy(calls, ({ marker }) => marker);
      const counted = [...tries.values()].map((all) => all.filter(({ behaviour }) => behaviour !== 'rate-limited'));
      expect(Math.max(...counted.map(({ length }) => length))).toBeLessThanOrEqual(MOST_TRIES);
      const givenUp = [...tries.values()].filter((all) => all.every(({ behaviour }) => behaviour !== 'answer')).length;
      expect(run.batch?.request_counts).toEqual({ total: lines, completed: lines - givenUp, failed: givenUp });
      // Nobody asks again for what was answered.
      expect(repeatedAnswers({ calls })).toBe(0);
      expect(callsInsideQuiet(calls)).toEqual([]);
      say(`${calls.length} calls for ${lines} lines, ${givenUp} given up after ${MOST_TRIES}`);
    },
    4 * MARGIN_MS,
  );
});

/** What is on its way when the provider asks for quiet arrives within this time, on a busy machine too. */
const IN_FLIGHT_MS = 300;
/** Clocks and timers of two processes agree within this. */
const CLOCK_MS = 25;

/** Calls that came while the provider had asked not to be called, other than those that were on their way. */
function callsInsideQuiet(calls: readonly UpstreamCall[]): string[] {
  const quiet = calls
    .filter(({ behaviour, endMs }) => behaviour === 'rate-limited' && endMs !== null)
    .map(({ endMs }) => ({ fromMs: endMs! + IN_FLIGHT_MS, toMs: endMs! + STORM.retryAfterSeconds * 1_000 - CLOCK_MS }));
  return calls
    .filter(({ startMs }) => quiet.some(({ fromMs, toMs }) => startMs > fromMs && startMs < toMs))
    .map(({ marker, startMs }) => `${marker} at ${startMs}`);
}

if (FULL) {
  describe('a batch whose worker sleeps', () => {
    it(
      'is taken over once the lease has run out, and the sleeper doubles nothing when it wakes',
      async () => {
        await installation.startApp('batch-worker', 'second-worker');
        const sleeper = installation.pidOf('batch-worker');
        const run = await submit({ tag: 'asleep', lines: 2_000 }, 'slow');
        await upstream.untilCalls(300);
        process.kill(sleeper, 'SIGSTOP');
        try {
          await eventually('the other worker asks again', LEASE_MS + 2 * SWEEP_MS + MARGIN_MS, async () =>
            repeatedAnswers({ calls: await upstream.calls() }) > 0 ? true : undefined,
          );
        } finally {
          process.kill(sleeper, 'SIGCONT');
        }
        await run.untilTerminal(2 * MARGIN_MS);
        await installation.untilReady();
        const history = await expectSound(run);
        expect(installation.pidOf('batch-worker')).toBe(sleeper);
        const repeated = repeatedAnswers(history);
        say(`${repeated} answers were asked for again after a sleep past the lease`);
        // Once the sleeper is gone for good, nothing of it can still be on its way.
        await installation.stopApp('batch-worker');
        await installation.stopApp('second-worker');
        await run.look();
        await expectSound(run);
        await installation.startApp('batch-worker');
      },
      6 * MARGIN_MS + LEASE_MS,
    );
  });
}
