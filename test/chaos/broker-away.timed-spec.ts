import { setTimeout as delay } from 'node:timers/promises';
import { mintApiKey } from '@libs/contracts';
import { catalogueOf } from '../support/catalogue';
import { TcpProxy } from '@libs/platform/testing';
import { freePorts } from '../../scripts/services/ports';
import { ApiClient, type ApiAnswer } from '../support/client';
import { eventually } from '../support/eventually';
import { Installation } from '../support/installation';
import { chatRequests, linesOf } from '../support/batch-lines';
import { Upstream } from '../support/upstream';

/**
 * RabbitMQ is gone under load, then back. Callers with known keys and the batch lane must not notice, and everybody
 * else must be refused at once with a status that says when to come again. `SLUICE_CHAOS=full` takes it away for 20 s.
 */
const FULL = process.env.SLUICE_CHAOS === 'full';
const AWAY_MS = FULL ? 20_000 : 8_000;
const BEFORE_MS = AWAY_MS;
const CONCURRENCY = 16;
const LATENCY_MS = 200;
/** Enough for the whole test at the speed that the upstream allows. */
const LINES = Math.ceil((4 * AWAY_MS * CONCURRENCY) / LATENCY_MS);
const BOOT_TIMEOUT_MS = 240_000;
/** Half of refusals must be this fast, and each far faster than any timeout; machines of tests are busy. */
const USUAL_REFUSAL_MS = 100;
const SLOWEST_REFUSAL_MS = 1_500;
const PRICING = { prompt: '0.000000246', completion: '0.000000914' };
const SCRIPTS = { steady: { latencyMs: 20 }, slow: { latencyMs: LATENCY_MS } };
const CHAT = { model: 'tests/steady', messages: [{ role: 'user', content: 'Say something please.' }], max_tokens: 8 };

interface Seen {
  readonly status: number;
  readonly retryAfter: unknown;
  readonly tookMs: number;
}

let upstream: Upstream;
let installation: Installation;
let proxy: TcpProxy;
/** The same key at a gateway that has no grace. */
let strict: ApiClient;
let known: ApiClient;
let manager: ApiClient;

beforeAll(async () => {
  upstream = await Upstream.start(SCRIPTS);
  installation = await Installation.start({
    apps: ['auth', 'batch-worker', 'gateway'],
    catalogue: catalogueOf(upstream.models(SCRIPTS, { pricing: PRICING, batchPricing: PRICING })),
    environment: { BATCH_CONCURRENCY: String(CONCURRENCY) },
    between: async (url) => {
      if (!url.startsWith('amqp')) return url;
      proxy = await TcpProxy.start(url);
      return proxy.through(url);
    },
  });
  const [port = 0] = await freePorts(1);
  await installation.startApp('gateway', 'strict', [{ PORT: String(port), KEY_GRACE_SECONDS: '0' }]);
  strict = new ApiClient(`http://127.0.0.1:${port}/api/v1`, installation.seed.apiKey);
  known = installation.client();
  manager = installation.client(installation.seed.managementKey);
}, BOOT_TIMEOUT_MS);

afterAll(async () => {
  await Promise.all([known, strict, manager].map((each) => each?.close()));
  await installation?.stop();
  await proxy?.close();
  await upstream?.stop();
}, BOOT_TIMEOUT_MS);

/** Calls again and again until `isOver`. */
async function callUntil(isOver: () => boolean, pauseMs: number, call: () => Promise<ApiAnswer>): Promise<Seen[]> {
  const seen: Seen[] = [];
  while (!isOver()) {
    const startedMs = performance.now();
    const { status, headers } = await call();
    seen.push({ status, retryAfter: headers['retry-after'], tookMs: performance.now() - startedMs });
    await delay(pauseMs);
  }
  return seen;
}

async function asStranger(): Promise<ApiAnswer> {
  const client = installation.client(mintApiKey('sluice', 'api'));
  try {
    return await client.chat(CHAT);
  } finally {
    await client.close();
  }
}

async function linesDone(): Promise<number> {
  const row = await installation.database.firstRow<{ count: number }>({
    sql: 'SELECT count(*)::integer AS count FROM batch_results',
  });
  return row?.count ?? 0;
}

async function readinessOf(name: string): Promise<number> {
  return (await fetch(`${installation.healthUrlOf(name)}/health/ready`)).status;
}

/** Lines that end per second. */
async function laneRate(forMs: number): Promise<number> {
  const [before, startedMs] = [await linesDone(), performance.now()];
  await delay(forMs);
  return ((await linesDone()) - before) / ((performance.now() - startedMs) / 1_000);
}

const statusesOf = (seen: readonly Seen[]): number[] =>
  [...new Set(seen.map(({ status }) => status))].toSorted((a, b) => a - b);

function expectQuickRefusals(seen: readonly Seen[]): void {
  expect(seen.length).toBeGreaterThan(3);
  expect(statusesOf(seen)).toEqual([503]);
  for (const { retryAfter } of seen) expect(Number(retryAfter)).toBeGreaterThanOrEqual(1);
  const times = seen.map(({ tookMs }) => tookMs).toSorted((a, b) => a - b);
  expect(times[Math.floor(times.length / 2)]).toBeLessThan(USUAL_REFUSAL_MS);
  expect(times.at(-1)).toBeLessThan(SLOWEST_REFUSAL_MS);
}

describe('RabbitMQ that is away under load', () => {
  it('is not noticed by known keys and batches, and others are refused at once with 503', async () => {
    const submitted = await known.submitBatch({
      endpoint: '/v1/chat/completions',
      model: 'tests/slow',
      requests: chatRequests(linesOf('away', LINES)),
    });
    expect({ status: submitted.status, text: submitted.text }).toMatchObject({ status: 202 });
    expect((await manager.request('GET', '/keys')).status).toBe(200);
    await eventually('the lane runs', 30_000, async () => ((await linesDone()) > CONCURRENCY ? true : undefined));
    const rateBefore = await laneRate(BEFORE_MS);
    for (const client of [known, strict]) expect((await client.chat(CHAT)).status).toBe(200);

    await installation.broker.kill9();
    const overMs = performance.now() + AWAY_MS;
    const isOver = (): boolean => performance.now() > overMs;
    const [knownSeen, strictSeen, strangers, managers, rateAway] = await Promise.all([
      callUntil(isOver, 50, () => known.chat(CHAT)),
      callUntil(isOver, 50, () => strict.chat(CHAT)),
      callUntil(isOver, 200, asStranger),
      callUntil(isOver, 200, () => manager.request('GET', '/keys')),
      laneRate(AWAY_MS - 500),
    ]);
    // A gateway out of service could not use its grace; without a grace it has nothing to serve.
    expect([await readinessOf('gateway'), await readinessOf('strict')]).toEqual([200, 503]);
    await installation.broker.restart();

    expect(statusesOf(knownSeen)).toEqual([200]);
    expect(knownSeen.length).toBeGreaterThan(AWAY_MS / 500);
    expectQuickRefusals(strangers);
    expectQuickRefusals(managers);
    expect(statusesOf(strictSeen.slice(0, -10))).toEqual([200, 503]);
    expectQuickRefusals(strictSeen.slice(-10));
    expect(rateAway).toBeGreaterThan(rateBefore * 0.8);
    await eventually('unknown keys are judged again', 30_000, async () => {
      const { status } = await asStranger();
      expect([401, 503]).toContain(status);
      return status === 401 ? true : undefined;
    });
    expect((await manager.request('GET', '/keys')).status).toBe(200);
    expect((await known.chat(CHAT)).status).toBe(200);
    for (const app of ['auth', 'batch-worker', 'gateway', 'credentials']) expect(installation.deathsOf(app)).toBe(0);
  }, 300_000);

  it('is noticed within a second when its connections stay open and say nothing', async () => {
    expect((await known.chat(CHAT)).status).toBe(200);
    proxy.hold();
    const overMs = performance.now() + 5_000;
    const isOver = (): boolean => performance.now() > overMs;
    const [knownSeen, strangers, managers] = await Promise.all([
      callUntil(isOver, 50, () => known.chat(CHAT)),
      callUntil(isOver, 100, asStranger),
      // What was asked before anybody knew waits for its time to be over.
      delay(2_000).then(() => callUntil(isOver, 100, () => manager.request('GET', '/keys'))),
    ]);
    proxy.release();
    expect(statusesOf(knownSeen)).toEqual([200]);
    expect(statusesOf(strangers)).toEqual([503]);
    // The first of them found out.
    expectQuickRefusals(strangers.slice(3));
    expectQuickRefusals(managers);
    await eventually('unknown keys are judged again', 30_000, async () =>
      (await asStranger()).status === 401 ? true : undefined,
    );
  }, 90_000);
});

describe('an auth app that dies', () => {
  it('is not noticed by known keys, and others are refused with 503 until it is back', async () => {
    expect((await known.chat(CHAT)).status).toBe(200);
    const overMs = performance.now() + 6_000;
    const isOver = (): boolean => performance.now() > overMs;
    const calls = Promise.all([
      callUntil(isOver, 50, () => known.chat(CHAT)),
      callUntil(isOver, 100, asStranger),
      callUntil(isOver, 100, () => manager.request('GET', '/keys')),
    ]);
    await installation.kill9('auth');
    const [knownSeen, strangers, managers] = await calls;
    expect(statusesOf(knownSeen)).toEqual([200]);
    // One may have been asked for when the app died.
    expect(managers.filter(({ status }) => status !== 200 && status !== 503).length).toBeLessThanOrEqual(1);
    expect([401, 503]).toEqual(expect.arrayContaining(statusesOf(strangers)));
    await installation.untilReady();
    expect((await asStranger()).status).toBe(401);
  }, 90_000);

  it('takes gateways out of service that know no keys any more, although RabbitMQ is there', async () => {
    const pid = installation.pidOf('auth');
    process.kill(pid, 'SIGSTOP');
    try {
      await eventually('the strict gateway is out of service', 30_000, async () =>
        (await readinessOf('strict')) === 503 ? true : undefined,
      );
      expect(await readinessOf('gateway')).toBe(200);
      expect((await known.chat(CHAT)).status).toBe(200);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await eventually('it is back', 30_000, async () => ((await readinessOf('strict')) === 200 ? true : undefined));
    expect((await strict.chat(CHAT)).status).toBe(200);
  }, 90_000);
});
