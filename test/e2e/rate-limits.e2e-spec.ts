import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TcpProxy } from '@libs/platform/testing';
import { hasRedisPrograms, startPrivateRedis, type PrivateServer } from '../../scripts/private-services';
import { catalogueOf } from '../support/catalogue';
import type { ApiAnswer, ApiClient } from '../support/client';
import { eventually } from '../support/eventually';
import { Installation } from '../support/installation';
import { Upstream } from '../support/upstream';
import { bytesOf, exchange } from './raw-http';
import { expectRefusal } from './refusals';
import { countRows } from '../support/stored-rows';

const MODEL = 'limits/talker';
/** Answers after three seconds, so that calls at the same time are that on a busy machine too. */
const PONDERER = 'limits/ponderer';
const CHAT = { model: MODEL, messages: [{ role: 'user', content: 'Hello!' }], max_tokens: 8 };
const CALLS = 30;
const CALL_INTERVAL_MS = 60_000 / CALLS;
const TOKENS = 100_000;
const MANAGEMENT_CALLS = 60;
const KEY_EXCHANGES = 10;
const TOKEN_EXCHANGES = 11;
const CONSENT_REQUESTS = 12;
const PRICING = { prompt: '0.00000001', completion: '0.00000001' };
const TRIO = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'];

let folder: string;
let redis: PrivateServer | null = null;
let proxy: TcpProxy;
let upstream: Upstream;
let installation: Installation;
let manager: ApiClient;
const clients: ApiClient[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-redis-'));
  // A Redis that may be killed; where none is installed, the machine's, out of reach behind the proxy.
  if (hasRedisPrograms()) redis = await startPrivateRedis(folder);
  const redisUrl = redis?.url ?? process.env.REDIS_URL ?? 'redis://127.0.0.1:6379';
  proxy = await TcpProxy.start(redisUrl);
  upstream = await Upstream.start({ slow: { latencyMs: 200 }, ponders: { latencyMs: 3_000 } });
  installation = await Installation.start({
    catalogue: catalogueOf([
      { slug: MODEL, provider: 'limits-talk', baseUrl: upstream.baseUrl('slow'), pricing: PRICING },
      { slug: PONDERER, provider: 'limits-ponder', baseUrl: upstream.baseUrl('ponders'), pricing: PRICING },
    ]),
    apps: ['auth', 'gateway'],
    environmentOf: {
      gateway: {
        REDIS_URL: proxy.through(redisUrl),
        INFERENCE_REQUESTS_PER_MINUTE: String(CALLS),
        INFERENCE_TOKENS_PER_MINUTE: String(TOKENS),
        MANAGEMENT_REQUESTS_PER_MINUTE: String(MANAGEMENT_CALLS),
        KEY_EXCHANGES_PER_MINUTE: String(KEY_EXCHANGES),
        TOKEN_EXCHANGES_PER_MINUTE: String(TOKEN_EXCHANGES),
        CONSENT_REQUESTS_PER_MINUTE: String(CONSENT_REQUESTS),
        TRUSTED_PROXIES: '127.0.0.0/8',
      },
    },
  });
  manager = installation.client(installation.seed.managementKey);
  clients.push(manager);
}, 240_000);

afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await installation?.stop();
  await upstream?.stop();
  await proxy?.close();
  await redis?.stop();
  rmSync(folder, { recursive: true, force: true });
}, 240_000);

/** Inference is counted per workspace, so each test has one that nobody else uses. */
async function newWorkspace(): Promise<ApiClient> {
  const slug = `hurry-${clients.length}`;
  const workspace = await manager.request<{ data: { id: string } }>('POST', '/workspaces', { name: slug, slug });
  const members = { name: slug, workspace_id: workspace.body.data.id };
  const { body } = await manager.request<{ key: string }>('POST', '/keys', members);
  const client = installation.client(body.key);
  clients.push(client);
  return client;
}

function expectLimited(answer: ApiAnswer, limit: number): void {
  expectRefusal({ ...answer, body: answer.text }, 429);
  expect(String(answer.headers['retry-after'])).toMatch(/^[1-9]\d*$/);
  for (const name of TRIO) expect(String(answer.headers[name])).toMatch(/^\d+$/);
  expect(Number(answer.headers['x-ratelimit-limit'])).toBe(limit);
  expect(Math.abs(Number(answer.headers['x-ratelimit-reset']) - Date.now())).toBeLessThan(120_000);
}

const allowedOf = (answers: readonly ApiAnswer[]): ApiAnswer[] => answers.filter(({ status }) => status !== 429);

async function inParallel(times: number, ask: (nth: number) => Promise<ApiAnswer>): Promise<ApiAnswer[]> {
  return Promise.all(Array.from({ length: times }, (_, nth) => ask(nth)));
}

/** How often the gateway has decided by itself, as it does where Redis does not answer in time: a machine may be busy. */
async function decidedAlone(): Promise<number> {
  const text = await (await fetch(`${installation.healthUrlOf('gateway')}/metrics`)).text();
  return Number(/^sluice_rate_limiter_local_decisions_total(?:{.*})? (\d+)$/m.exec(text)?.[1]);
}

/**
 * Asks so often at the same time.
 * @returns the answers, and how many of them may have been let through at most: the limit, what was earned
 *   meanwhile (one in `intervalMs`), and what the gateway decided by itself
 */
async function hurried(
  limit: number,
  intervalMs: number,
  ask: (nth: number) => Promise<ApiAnswer>,
): Promise<{ answers: ApiAnswer[]; most: number }> {
  const aloneBefore = await decidedAlone();
  const startedMs = performance.now();
  const answers = await inParallel(2 * limit, ask);
  const earned = Math.ceil((performance.now() - startedMs) / intervalMs);
  return { answers, most: limit + earned + (await decidedAlone()) - aloneBefore };
}

/** Asks again where Redis answered too late, as on a busy machine, and the gateway decided by itself. */
async function decidedByAll<T>(ask: () => Promise<T>): Promise<T> {
  const aloneBefore = await decidedAlone();
  const answer = await ask();
  return (await decidedAlone()) === aloneBefore ? answer : decidedByAll(ask);
}

/** One more may have been earned meanwhile, and another by a machine that is busy. */
function expectMostOf(answers: readonly ApiAnswer[], limit: number): void {
  expect(allowedOf(answers).length).toBeGreaterThanOrEqual(limit);
  expect(allowedOf(answers).length).toBeLessThanOrEqual(limit + 2);
}

async function redeem(source: string | undefined, client: ApiClient): Promise<ApiAnswer> {
  const body = { code: 'no such code', code_verifier: 'v'.repeat(43) };
  return client.request('POST', '/auth/keys', body, source === undefined ? {} : { 'x-forwarded-for': source });
}

describe('inference', () => {
  it('U51 lets a workspace make as many calls as it may, refuses the rest, and charges nothing for those', async () => {
    const client = await newWorkspace();
    const before = await countRows(installation.database);
    const { answers, most } = await hurried(CALLS, CALL_INTERVAL_MS, () => client.chat(CHAT));
    const allowed = allowedOf(answers);
    expect(allowed.length).toBeGreaterThanOrEqual(CALLS);
    expect(allowed.length).toBeLessThanOrEqual(most);
    for (const answer of allowed) expect(answer.status).toBe(200);
    for (const answer of allowed) expect(TRIO.filter((name) => answer.headers[name] !== undefined)).toEqual([]);
    for (const answer of answers.filter(({ status }) => status === 429)) expectLimited(answer, CALLS);
    await eventually('all calls are off the books', 5_000, async () => {
      const { held_usd: held } = await countRows(installation.database);
      return held === before.held_usd ? true : undefined;
    });
    const charged = await installation.database.firstRow<{ calls: string }>({
      sql: `SELECT count(*)::text AS calls FROM generations WHERE cost_usd > 0`,
    });
    expect(Number(charged?.calls)).toBe(allowed.length);
  });

  it('says when the next call is let through, and keeps its word', async () => {
    const client = await newWorkspace();
    const answers = await inParallel(2 * CALLS, () => client.chat(CHAT));
    const refused = answers.find(({ status }) => status === 429)!;
    const seconds = Number(refused.headers['retry-after']);
    expect(seconds).toBeLessThanOrEqual(3);
    await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
    expect((await client.chat(CHAT)).status).toBe(200);
  });

  it('counts responses with chats, and another workspace by itself', async () => {
    const [busy, quiet] = [await newWorkspace(), await newWorkspace()];
    const { answers, most } = await hurried(CALLS, CALL_INTERVAL_MS, (nth) =>
      nth % 2 === 0 ? busy.chat(CHAT) : busy.request('POST', '/responses', { model: MODEL, input: 'Hello!' }),
    );
    expect(allowedOf(answers).length).toBeLessThanOrEqual(most);
    expect((await quiet.chat(CHAT)).status).toBe(200);
  });

  it('counts tokens while a call runs, and what it really used afterwards', async () => {
    const long = {
      ...CHAT,
      model: PONDERER,
      messages: [{ role: 'user', content: 'lorem ipsum dolor '.repeat(12_000) }],
    };
    const [client, answers] = await decidedByAll(async () => {
      const caller = await newWorkspace();
      return [caller, await inParallel(2, () => caller.chat(long))] as const;
    });
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 429]));
    expectLimited(
      answers.find(({ status }) => status === 429)!,
      TOKENS,
    );
    // The provider counted a third of the limit only.
    expect((await client.chat(long)).status).toBe(200);
  });
});

describe('what gives out keys', () => {
  it('is counted per source address, as the last proxy that is not ours saw it', async () => {
    const client = await newWorkspace();
    const times = KEY_EXCHANGES + 5;
    const first = await inParallel(times, (nth) => redeem(`192.0.2.${nth}, 203.0.113.1`, client));
    expectMostOf(first, KEY_EXCHANGES);
    for (const { status } of allowedOf(first)) expect(status).toBe(403);
    for (const answer of first.filter(({ status }) => status === 429)) expectLimited(answer, KEY_EXCHANGES);
    const others = await inParallel(times, (nth) => redeem(`203.0.113.${nth + 100}`, client));
    expect(allowedOf(others)).toHaveLength(times);
    const network = await inParallel(times, (nth) => redeem(`2001:db8::${nth + 1}`, client));
    expectMostOf(network, KEY_EXCHANGES);
    const nonsense = await inParallel(times, (nth) => redeem(`nonsense-${nth}`, client));
    expectMostOf(nonsense, KEY_EXCHANGES);
  });
});

describe('public routes', () => {
  it.each([
    ['/api/v1/auth/keys', 'application/json', KEY_EXCHANGES],
    ['/api/v1/oauth/token', 'application/x-www-form-urlencoded', TOKEN_EXCHANGES],
    ['/auth/session', 'application/x-www-form-urlencoded', CONSENT_REQUESTS],
    ['/auth', 'application/x-www-form-urlencoded', CONSENT_REQUESTS],
  ])('are counted before their bodies are read: %s', async (target, type, limit) => {
    const source = `10.20.0.${limit + target.length}`;
    const head = bytesOf({
      method: 'POST',
      target,
      headers: [
        ['Host', 'gateway'],
        ['X-Forwarded-For', source],
        ['Content-Type', type],
        ['Content-Length', '10'],
      ],
    });
    // Twice the limit: on a busy machine they take seconds, in which a part of the limit is free again.
    const answers = await Promise.all(Array.from({ length: 2 * limit }, () => exchange(installation.baseUrl, head)));
    // A body of a public route that does not come is waited for, for five seconds.
    const slow = answers.filter(({ status }) => status === 408);
    const refused = answers.filter(({ status }) => status === 429 || status === 503);
    expect(slow.length + refused.length).toBe(answers.length);
    expect(refused.filter(({ status }) => status === 429).length).toBeGreaterThan(0);
    for (const { tookMs } of refused) expect(tookMs).toBeLessThan(4_000);
  });
});

describe('without Redis', () => {
  async function expectClosed(client: ApiClient, address: string): Promise<void> {
    const exchange = await redeem(address, client);
    expectRefusal({ ...exchange, body: exchange.text }, 503);
    expect(exchange.headers['retry-after']).toBe('1');
    const token = await client.request('POST', '/oauth/token', undefined, {
      'content-type': 'application/x-www-form-urlencoded',
    });
    expect(token.status).toBe(503);
  }

  async function untilOpen(client: ApiClient, address: string): Promise<void> {
    await eventually('codes are exchanged again', 10_000, async () => {
      return (await redeem(address, client)).status === 403 ? true : undefined;
    });
  }

  it('killed in the middle of work, inference goes on and is limited, what gives out keys is closed, and all comes back', async () => {
    const client = await newWorkspace();
    const running = inParallel(10, () => client.chat(CHAT));
    if (redis === null) proxy.refuse();
    else await redis.kill9();
    expect((await running).map(({ status }) => status)).toEqual(Array(10).fill(200));
    const startedMs = performance.now();
    const more = await inParallel(2 * CALLS, () => client.chat(CHAT));
    const refilled = Math.ceil((performance.now() - startedMs) / CALL_INTERVAL_MS);
    const allowed = allowedOf(more).length;
    expect(allowed).toBeGreaterThanOrEqual(CALLS - 10);
    expect(allowed).toBeLessThanOrEqual(CALLS + refilled);
    expect((await manager.request('GET', '/keys')).status).toBe(200);
    await expectClosed(client, '198.51.100.1');
    if (redis === null) proxy.accept();
    else await redis.restart();
    await untilOpen(client, '198.51.100.1');
    expect((await client.chat(CHAT)).status).toBe(redis === null ? 429 : 200);
  });

  it('hanging, it slows nobody: calls are as fast as before but for the one that finds out', async () => {
    const client = await newWorkspace();
    const timed = async (): Promise<number> => {
      const startedMs = performance.now();
      expect((await client.chat(CHAT)).status).toBe(200);
      return performance.now() - startedMs;
    };
    const times = async (): Promise<number[]> => {
      const tookMs: number[] = [];
      for (let nth = 0; nth < 8; nth += 1) tookMs.push(await timed());
      return tookMs;
    };
    const usual = (await times()).toSorted((one, other) => one - other)[4]!;
    // Eight calls of 200 ms last under two seconds: at most two of them look whether Redis is back.
    const areQuick = (tookMs: readonly number[]): boolean =>
      tookMs.filter((ms) => ms > usual + 60).length <= 3 && tookMs.filter((ms) => ms > usual + 100).length <= 1;
    proxy.hold();
    try {
      // A busy machine may slow some of them; a gateway that waits for Redis slows all, every time.
      let during = await times();
      if (!areQuick(during)) during = await times();
      expect({ usual, during, areQuick: areQuick(during) }).toMatchObject({ areQuick: true });
      await expectClosed(client, '198.51.100.2');
    } finally {
      proxy.release();
    }
    await untilOpen(client, '198.51.100.2');
  });
});

describe('management calls', () => {
  it('are counted for the organization, before anything is done', async () => {
    const { answers, most } = await hurried(MANAGEMENT_CALLS, 60_000 / MANAGEMENT_CALLS, () =>
      manager.request('GET', '/keys'),
    );
    const allowed = allowedOf(answers);
    expect(allowed.length).toBeGreaterThanOrEqual(MANAGEMENT_CALLS - 2 * clients.length);
    expect(allowed.length).toBeLessThanOrEqual(most);
    for (const answer of answers.filter(({ status }) => status === 429)) expectLimited(answer, MANAGEMENT_CALLS);
  });
});
