import { createConnection } from 'node:net';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { queues } from '@libs/contracts';
import { BatchRun, type BatchPlan } from '../support/batch-run';
import { linesOf, chatRequests } from '../support/batch-lines';
import { queueDepth } from '../support/broker';
import { catalogueOf, type TestPrices } from '../support/catalogue';
import { findViolations, repeatedAnswers } from '../support/checker';
import type { ApiClient } from '../support/client';
import { eventually } from '../support/eventually';
import { drawSchedule, FAULTS, type Fault } from '../support/fault-schedule';
import { Installation } from '../support/installation';
import { Nemesis, sendAdvanceBatch, ServiceProxies } from '../support/nemesis';
import { Upstream } from '../support/upstream';
import { say } from '../support/say';
import { Operator } from '../support/operator';
import { countRows } from '../support/stored-rows';

/**
 * Batches under schedules of faults: of processes, of the database, of Redis, of the broker and its messages, and
 * races of callers with the end of a batch. A seed is a schedule; what went wrong can be run again.
 *
 * Leases end when a test says so instead of after half a minute, which puts more stale owners into a run of
 * seconds than a day would bring. `SLUICE_CHAOS=full` runs more lines, more seeds and every fault.
 */
const FULL = process.env.SLUICE_CHAOS === 'full';

const SEEDS = process.env.SLUICE_CHAOS_SEED ? [Number(process.env.SLUICE_CHAOS_SEED)] : FULL ? [1, 2, 3, 4, 5] : [1];
const LINES = FULL ? 10_000 : 1_000;
const FAULT_COUNT = FULL ? 40 : 9;
/** A restart of the broker takes most of a short run; another test has it. */
const AMONG: readonly Fault[] = FULL ? FAULTS : FAULTS.filter((fault) => fault !== 'the broker restarts');
const CONCURRENCY = 32;
const BOOT_TIMEOUT_MS = 240_000;
const END_MS = FULL ? 600_000 : 90_000;
const WORKERS = ['batch-worker', 'second-worker'] as const;
/** A worker whose line kills it is given the line so often. */
const LEASES_OF_POISON = 6;

const PRICES: TestPrices = { prompt: '0.000000123', completion: '0.000000457' };
const SCRIPTS = {
  steady: { latencyMs: 20 },
  fast: {},
  slow: { latencyMs: 400 },
  crawling: { latencyMs: 1_500 },
};

let upstream: Upstream;
let proxies: ServiceProxies;
let installation: Installation;
let nemesis: Nemesis;
let client: ApiClient;

beforeAll(async () => {
  upstream = await Upstream.start(SCRIPTS);
  proxies = await ServiceProxies.start();
  installation = await Installation.start({
    apps: ['auth', 'batch-worker', 'gateway'],
    catalogue: catalogueOf(upstream.models(SCRIPTS, { pricing: PRICES })),
    between: (url) => Promise.resolve(url.startsWith('postgres') ? proxies.database.through(url) : url),
    environment: {
      BATCH_CONCURRENCY: String(CONCURRENCY),
      REDIS_URL: proxies.redisUrl,
      BATCH_SUBMISSIONS_PER_MINUTE: '1000000',
      BATCH_READS_PER_MINUTE: '1000000',
    },
  });
  await installation.startApp('batch-worker', 'second-worker');
  nemesis = new Nemesis(installation, proxies, WORKERS);
  client = installation.client();
}, BOOT_TIMEOUT_MS);

afterAll(async () => {
  await client?.close();
  await installation?.stop();
  await proxies?.close();
  await upstream?.stop();
}, BOOT_TIMEOUT_MS);

beforeEach(async () => {
  await installation.untilReady();
  await upstream.forget();
});

jest.setTimeout(2 * END_MS);

function submit(plan: Pick<BatchPlan, 'tag' | 'lines'>, script: keyof typeof SCRIPTS, by = client): Promise<BatchRun> {
  return BatchRun.submit(installation, upstream, by, { ...plan, model: `tests/${script}`, prices: PRICES });
}

async function expectSound(run: BatchRun, status = 'completed'): Promise<void> {
  const history = await run.history();
  expect(findViolations(history)).toEqual([]);
  expect(run.batch!.status).toBe(status);
}

const deaths = (): number[] => ['auth', 'gateway', ...WORKERS].map((app) => installation.deathsOf(app));

describe('a schedule of faults', () => {
  it.each(SEEDS)('drawn by seed %i loses, doubles and overcharges nothing', async (seed) => {
    const schedule = drawSchedule(seed, FAULT_COUNT, LINES * 0.8, AMONG);
    const kills = schedule.filter(({ fault }) => fault.endsWith('dies')).length;
    const before = deaths();
    const run = await submit({ tag: `seed-${seed}`, lines: LINES }, 'steady');
    await nemesis.follow(schedule, upstream, say);
    await run.untilTerminal(END_MS);
    await installation.untilReady();
    await expectSound(run);
    // Nothing died but what was killed.
    const died = deaths().reduce((sum, count, index) => sum + count - before[index]!, 0);
    expect(died).toBe(kills);
    say(`${repeatedAnswers(await run.history())} of ${LINES} answers were asked for again`);
  });
});

describe('S7: a worker that was frozen past its lease', () => {
  it('writes nothing when it wakes, although its answers are in its hands', async () => {
    const run = await submit({ tag: 'frozen', lines: 120 }, 'slow');
    await upstream.untilCalls(2 * CONCURRENCY);
    const pids = WORKERS.map((name) => installation.pidOf(name));
    process.kill(pids[0]!, 'SIGSTOP');
    try {
      await nemesis.endLeases();
      await run.untilTerminal(END_MS);
    } finally {
      process.kill(pids[0]!, 'SIGCONT');
    }
    const rows = await countRows(installation.database);
    await expectSound(run);
    await installation.untilReady();
    // Its calls ended while it slept; what it does with them shows within moments.
    await delay(1_000);
    expect(await countRows(installation.database)).toEqual(rows);
    await expectSound(run);
    expect(WORKERS.map((name) => installation.pidOf(name))).toEqual(pids);
  });
});

describe('S6: messages that come again', () => {
  it('during a batch and long after it cost no call and no charge', async () => {
    const run = await submit({ tag: 'repeated', lines: 400 }, 'steady');
    await upstream.untilCalls(50);
    await sendAdvanceBatch(installation.broker.url, Array<string>(30).fill(run.id));
    await run.untilTerminal(END_MS);
    const history = await run.history();
    expect(repeatedAnswers(history)).toBe(0);
    const rows = await countRows(installation.database);
    await sendAdvanceBatch(installation.broker.url, Array<string>(60).fill(run.id));
    await queuesAreEmpty();
    await delay(200);
    expect(await countRows(installation.database)).toEqual(rows);
    expect((await upstream.counts()).calls).toBe(400);
    await expectSound(run);
  });
});

describe('S13: a line that kills its worker', () => {
  beforeAll(() => installation.stopApp('second-worker'), BOOT_TIMEOUT_MS);
  afterAll(() => installation.startApp('batch-worker', 'second-worker'), BOOT_TIMEOUT_MS);

  /** Its worker dies each time that it is called. Returns how often that was. */
  async function killWith(run: BatchRun, marker: string): Promise<number> {
    const callsOf = async (): Promise<number> =>
      (await upstream.calls()).filter((call) => call.marker === marker).length;
    for (let lease = 1; lease < LEASES_OF_POISON; lease += 1) {
      await eventually(`the line is called for lease ${lease}`, 30_000, async () =>
        (await callsOf()) >= lease ? true : undefined,
      );
      await nemesis.bring('a worker dies', 0);
    }
    await run.untilTerminal(END_MS);
    return callsOf();
  }

  async function expectGivenUp(run: BatchRun, marker: string): Promise<void> {
    expect(run.batch!.request_counts).toEqual({ total: 4, completed: 3, failed: 1 });
    expect(run.batch!.results!.find(({ custom_id: customId }) => customId === marker)!.error!.type).toBe(
      'server_error',
    );
    await expectSound(run);
  }

  it('is given up after its leases, counted when they are taken, and the others have their results', async () => {
    const run = await submit({ tag: 'poison', lines: 4 }, 'crawling');
    expect(await killWith(run, 'poison-0')).toBe(LEASES_OF_POISON - 1);
    await expectGivenUp(run, 'poison-0');
  });

  it('costs no line of other batches in the same worker its result, although they never came to one before', async () => {
    const innocent = await Promise.all(
      Array.from({ length: 5 }, (_, nth) => submit({ tag: `innocent-${nth}`, lines: 1 }, 'crawling')),
    );
    const run = await submit({ tag: 'killer', lines: 4 }, 'crawling');
    expect(await killWith(run, 'killer-0')).toBe(LEASES_OF_POISON - 1);
    await expectGivenUp(run, 'killer-0');
    for (const other of innocent) {
      await other.untilTerminal(END_MS);
      expect(other.batch!.request_counts).toEqual({ total: 1, completed: 1, failed: 0 });
      await expectSound(other);
    }
  });
});

describe('S19: more batches at once than there is money for', () => {
  it('accepts exactly those that are covered', async () => {
    const tenant = await new Operator(installation).createTenant('Race', null);
    const rich = await submit({ tag: 'price', lines: 1 }, 'fast');
    const [hold] = await installation.database.rows<{ amount: string }>({
      sql: 'SELECT (amount_usd * 10)::text AS amount FROM ledger_holds WHERE id = $1',
      values: [rich.id],
    });
    await rich.untilTerminal(END_MS);
    await new Operator(installation).run('credits', 'add', hold!.amount, '--organization', tenant.organizationId);
    const poor = installation.client(tenant.apiKey);
    try {
      // Slow ones, so that none gives its hold back before the last has asked.
      const requests = chatRequests(linesOf('price', 1));
      const answers = await Promise.all(
        Array.from({ length: 40 }, () =>
          poor.submitBatch({ endpoint: '/v1/chat/completions', model: 'tests/crawling', requests }),
        ),
      );
      const statuses = answers.map(({ status }) => status);
      expect(statuses.filter((status) => status === 202)).toHaveLength(10);
      expect(statuses.filter((status) => status === 402)).toHaveLength(30);
      for (const { body } of answers.filter(({ status }) => status === 202)) {
        await eventually(`${body.id} ends`, END_MS, async () =>
          (await poor.getBatch(body.id)).body.finalized_at === null ? undefined : true,
        );
      }
    } finally {
      await poor.close();
    }
  });
});

const GONE = { status: 404, body: { status: undefined, results: null } };

describe('S20: DELETE, GET and cancel against the end of a batch', () => {
  it('find a batch that is there or gone, never half of it', async () => {
    for (let round = 0; round < (FULL ? 100 : 6); round += 1) {
      const run = await submit({ tag: `race-${round}`, lines: 40 }, 'fast');
      const wrong: string[] = [];
      const ask = async (what: 'DELETE' | 'GET' | 'cancel'): Promise<number> => {
        const path = `/batches/${run.id}${what === 'cancel' ? '/cancel' : ''}`;
        const answer = client.request<{ status?: string; results?: unknown[] | null }>(
          what === 'cancel' ? 'POST' : what,
          path,
        );
        // What is deleted while it is read breaks off.
        const { status, body } = what === 'GET' ? await answer.catch(() => GONE) : await answer;
        if (what === 'GET' && status === 200 && body.results && body.results.length !== 40) {
          wrong.push(`${body.results.length} results of a batch that is ${body.status}`);
        }
        return status;
      };
      const seen: number[] = [];
      for (let removed = false; !removed;) {
        const cancels = round % 3 === 0 ? [ask('cancel')] : [];
        const [first, second, ...others] = await Promise.all([ask('DELETE'), ask('DELETE'), ask('GET'), ...cancels]);
        seen.push(...others);
        removed = first === 200 || second === 200;
        expect([first, second].filter((status) => status === 200).length).toBeLessThanOrEqual(1);
        for (const status of [first, second]) expect([200, 404, 409]).toContain(status);
      }
      expect(wrong).toEqual([]);
      for (const status of seen) expect([200, 404, 409]).toContain(status);
      expect([await ask('GET'), await ask('DELETE'), await ask('cancel')]).toEqual([404, 404, 404]);
      const books = (await run.history()).books;
      expect(books).toMatchObject({ items: [], segments: 0, holds: [{ state: 'resolved' }], drift: [] });
    }
  });
});

describe('S12: uploads that break off', () => {
  it('leave no batch, no line and no hold', async () => {
    const before = await countRows(installation.database);
    const body = JSON.stringify({
      endpoint: '/v1/chat/completions',
      model: 'tests/fast',
      requests: chatRequests(linesOf('broken', FULL ? 400_000 : 40_000)),
    });
    say(`uploads of ${Math.round(body.length / 1_048_576)} MiB`);
    for (const share of [0.1, 0.5, 0.99]) await uploadPart(body, share);
    await eventually('nothing is left', 30_000, async () => {
      const rows = await countRows(installation.database);
      return JSON.stringify(rows) === JSON.stringify(before) ? true : undefined;
    });
  });

  async function uploadPart(body: string, share: number): Promise<void> {
    const { hostname, port, pathname } = new URL(`${installation.baseUrl}/batches`);
    const socket = createConnection(Number(port), hostname);
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.write(
      `POST ${pathname} HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${installation.seed.apiKey}\r\n` +
        `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`,
    );
    const part = body.slice(0, Math.floor(body.length * share));
    await new Promise<void>((resolve) => socket.write(part, () => resolve()));
    socket.resetAndDestroy();
  }
});

describe('S22: everything at once', () => {
  it('that is killed finds every accepted batch again and finishes it', async () => {
    const runs = [
      await submit({ tag: 'crash-one', lines: 400 }, 'steady'),
      await submit({ tag: 'crash-two', lines: 400 }, 'steady'),
    ];
    await upstream.untilCalls(200);
    await Promise.all([
      installation.broker.kill9(),
      ...['auth', 'gateway', 'credentials', ...WORKERS].map((name) => installation.kill9(name)),
    ]);
    await nemesis.endLeases();
    await installation.broker.restart();
    await installation.untilReady();
    for (const run of runs) {
      await run.untilTerminal(END_MS);
      await expectSound(run);
    }
  });
});

function queuesAreEmpty(): Promise<true> {
  return eventually('the queue is empty', 30_000, async () =>
    (await queueDepth(installation.broker.url, queues.batches.name)) === 0 ? true : undefined,
  );
}
