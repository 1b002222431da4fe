import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { Secret } from '@libs/contracts';
import { eventually, TcpProxy } from '@libs/platform/testing';
import { RedisRateLimiter } from './redis-rate-limiter';
import { rateLimitError, type RateLimit } from './rate-limiter';

const URL_OF_REDIS = process.env.REDIS_URL ?? 'redis://127.0.0.1:6379';
const LIMIT: RateLimit = { name: 'batch-submissions', perMinute: 60, burst: 20 };

describe(RedisRateLimiter.name, () => {
  const keyPrefix = `test-${randomUUID()}:`;
  const limiters: RedisRateLimiter[] = [];
  const states: string[] = [];
  let admin: Redis;
  let proxy: TcpProxy;
  let nowMs = 0;

  beforeAll(async () => {
    admin = new Redis(URL_OF_REDIS);
    proxy = await TcpProxy.start(URL_OF_REDIS);
  });

  afterEach(async () => {
    for (const limiter of limiters.splice(0)) limiter.close();
    states.splice(0);
    proxy.accept();
    proxy.release();
    const keys = await admin.keys(`${keyPrefix}*`);
    if (keys.length > 0) await admin.del(...keys);
  });

  afterAll(async () => {
    await proxy.close();
    admin.disconnect();
  });

  const start = async (url = URL_OF_REDIS, replicas = 1): Promise<RedisRateLimiter> => {
    const limiter = new RedisRateLimiter({
      url: new Secret(url),
      keyPrefix,
      replicas,
      onStateChange: (state) => states.push(state),
      nowMs: () => nowMs + performance.now(),
    });
    limiters.push(limiter);
    await limiter.connect();
    return limiter;
  };

  const countAllowed = async (limiter: RedisRateLimiter, entity: string, times: number): Promise<number> => {
    const verdicts = await Promise.all(Array.from({ length: times }, () => limiter.take(LIMIT, entity)));
    return verdicts.filter(({ allowed }) => allowed).length;
  };

  it('grants one limit to all processes together', async () => {
    const [one, other] = [await start(), await start()];
    const allowed = await Promise.all([countAllowed(one, 'a', 100), countAllowed(other, 'a', 100)]);
    expect(allowed[0]! + allowed[1]!).toBeGreaterThanOrEqual(20);
    expect(allowed[0]! + allowed[1]!).toBeLessThanOrEqual(21);
    expect(await countAllowed(one, 'b', 1)).toBe(1);
  });

  it('signs in as a user and takes the database of the URL', async () => {
    const user = randomUUID();
    await admin.acl('SETUSER', user, 'on', '>secret', `~${keyPrefix}*`, '+@all');
    const url = new URL(URL_OF_REDIS);
    Object.assign(url, { username: user, password: 'secret', pathname: '/3' });
    expect((await (await start(url.href)).take(LIMIT, 'a')).remaining).toBe(19);
    expect(await admin.keys(`${keyPrefix}*`)).toEqual([]);
    url.password = 'wrong';
    await start(url.href, 2).then((limiter) => limiter.take(LIMIT, 'a'));
    expect(states).toEqual(['lost']);
    await admin.acl('DELUSER', user);
  });

  it('says when the next one is allowed, within a second of the truth', async () => {
    const limiter = await start();
    await countAllowed(limiter, 'a', 20);
    const verdict = await limiter.take(LIMIT, 'a');
    expect(verdict).toMatchObject({ allowed: false, limit: 20, remaining: 0 });
    expect(verdict.retryAfterMs).toBeGreaterThan(0);
    expect(verdict.retryAfterMs).toBeLessThanOrEqual(1_000);
    expect(verdict.resetAfterMs).toBeGreaterThan(18_000);
  });

  it('takes a count back', async () => {
    const limiter = await start();
    await countAllowed(limiter, 'a', 20);
    await limiter.giveBack(LIMIT, 'a');
    expect((await limiter.take(LIMIT, 'a')).allowed).toBe(true);
  });

  it('takes all of several limits or nothing, and says which one is in the way', async () => {
    const limiter = await start();
    const tokens: RateLimit = { name: 'tokens', perMinute: 600, burst: 100 };
    const both = (count: number) => [
      { limit: LIMIT, count: 1 },
      { limit: tokens, count },
    ];
    expect(await limiter.takeAll(both(90), 'a')).toMatchObject({ allowed: true, limit: 20, remaining: 19 });
    expect(await limiter.takeAll(both(40), 'a')).toMatchObject({ allowed: false, limit: 100, remaining: 10 });
    expect((await limiter.take(LIMIT, 'a')).remaining).toBe(18);
    expect((await limiter.takeAll(both(10), 'a')).allowed).toBe(true);
  });

  it('grants what is larger than a limit only when nothing else was taken', async () => {
    const limiter = await start();
    const tokens: RateLimit = { name: 'tokens', perMinute: 600, burst: 100 };
    expect((await limiter.takeAll([{ limit: tokens, count: 5_000 }], 'a')).allowed).toBe(true);
    const verdict = await limiter.takeAll([{ limit: tokens, count: 5_000 }], 'a');
    expect(verdict.allowed).toBe(false);
    expect(verdict.retryAfterMs).toBeGreaterThan(9_000);
  });

  it('counts what was used beyond what was taken, and frees what was not', async () => {
    const limiter = await start();
    const tokens: RateLimit = { name: 'tokens', perMinute: 600, burst: 100 };
    await limiter.takeAll([{ limit: tokens, count: 10 }], 'a');
    await limiter.adjust(tokens, 'a', 190);
    const verdict = await limiter.takeAll([{ limit: tokens, count: 1 }], 'a');
    expect(verdict).toMatchObject({ allowed: false, remaining: 0 });
    expect(verdict.retryAfterMs).toBeGreaterThan(9_900);
    await limiter.adjust(tokens, 'a', -500);
    expect((await limiter.takeAll([{ limit: tokens, count: 100 }], 'a')).allowed).toBe(true);
  });

  it('asks nobody about an entity that was refused a moment ago', async () => {
    const limiter = await start(proxy.through(URL_OF_REDIS));
    await countAllowed(limiter, 'a', 21);
    proxy.hold();
    for (let i = 0; i < 50; i += 1) expect((await limiter.take(LIMIT, 'a')).allowed).toBe(false);
    // Whoever had asked a Redis that hangs would have lost it.
    expect(states).toEqual([]);
    proxy.release();
    nowMs += 1_001;
    await new Promise((resolve) => setTimeout(resolve, 1_050));
    expect((await limiter.take(LIMIT, 'a')).allowed).toBe(true);
  });

  it('forgets an entity when its limit is whole again', async () => {
    const limiter = await start();
    await limiter.take({ ...LIMIT, perMinute: 1 }, 'a');
    const [key] = await admin.keys(`${keyPrefix}*`);
    expect(key).toBe(`${keyPrefix}rate:batch-submissions:a`);
    const leftMs = await admin.pttl(key!);
    expect(leftMs).toBeGreaterThan(0);
    expect(leftMs).toBeLessThanOrEqual(60_000 + 2);
  });

  it('starts with a fresh limit after a flush, and nothing else happens', async () => {
    const limiter = await start();
    await countAllowed(limiter, 'a', 20);
    await admin.del(`${keyPrefix}rate:batch-submissions:a`);
    expect((await limiter.take(LIMIT, 'a')).remaining).toBe(19);
  });

  it('limits by itself while Redis is away, each process its share, and finds back', async () => {
    const limiter = await start(proxy.through(URL_OF_REDIS), 2);
    expect((await limiter.take(LIMIT, 'a')).limit).toBe(20);
    proxy.refuse();
    expect((await limiter.take(LIMIT, 'b')).limit).toBe(10);
    expect(await countAllowed(limiter, 'b', 30)).toBe(9);
    expect(states).toEqual(['lost']);
    proxy.accept();
    nowMs += 2_000;
    for (;;) {
      const { limit } = await limiter.take(LIMIT, 'c');
      if (limit === 20) break;
      await new Promise((resolve) => setTimeout(resolve, 20));
      nowMs += 2_000;
    }
    expect(states).toEqual(['lost', 'back']);
  });

  it('slows one request for a moment when Redis hangs, and the next ones not at all', async () => {
    const limiter = await start(proxy.through(URL_OF_REDIS));
    await limiter.take(LIMIT, 'a');
    proxy.hold();
    const timed = async (): Promise<number> => {
      const startedMs = performance.now();
      await limiter.take(LIMIT, 'a');
      return performance.now() - startedMs;
    };
    // 75 ms, and what a busy machine adds; a socket that is silent is given up only after two seconds.
    expect(await timed()).toBeLessThan(500);
    const rest = await Promise.all(Array.from({ length: 50 }, timed));
    expect(Math.max(...rest)).toBeLessThan(50);
  });

  it('sends one request at a time to look whether a Redis that hangs is back', async () => {
    const limiter = await start(proxy.through(URL_OF_REDIS));
    proxy.hold();
    await limiter.take(LIMIT, 'a');
    const durationOf = async (): Promise<number> => {
      const startedMs = performance.now();
      await limiter.take(LIMIT, 'a');
      return performance.now() - startedMs;
    };
    nowMs += 2_000;
    const durationsMs = await Promise.all(Array.from({ length: 10 }, durationOf));
    expect(durationsMs.filter((durationMs) => durationMs > 50)).toHaveLength(1);
  });

  it('refuses without Redis where a limit says so, and decides again when Redis is back', async () => {
    const limiter = await start(proxy.through(URL_OF_REDIS));
    const strict: RateLimit = { ...LIMIT, withoutStore: 'refuse' };
    expect((await limiter.take(strict, 'a')).allowed).toBe(true);
    proxy.refuse();
    const verdict = await limiter.take(strict, 'a');
    expect(verdict).toMatchObject({ allowed: false, isUndecided: true });
    expect(rateLimitError(verdict)).toMatchObject({ status: 503, retryAfterSeconds: 1 });
    proxy.accept();
    await eventually(async () => {
      nowMs += 2_000;
      return (await limiter.take(strict, 'a')).allowed;
    }, 'Redis decides again');
  });

  it('waits a while longer for Redis where a limit refuses without it', async () => {
    const limiter = await start(proxy.through(URL_OF_REDIS));
    const strict: RateLimit = { ...LIMIT, withoutStore: 'refuse' };
    expect((await limiter.take(strict, 'a')).allowed).toBe(true);
    proxy.hold();
    const verdict = limiter.take(strict, 'a');
    await new Promise((resolve) => setTimeout(resolve, 200));
    proxy.release();
    expect(await verdict).toMatchObject({ allowed: true, remaining: 18 });
    expect(states).toEqual([]);
  });

  it('starts and limits when there is no Redis at all', async () => {
    const limiter = await start('redis://127.0.0.1:1');
    expect((await limiter.take(LIMIT, 'a')).allowed).toBe(true);
    expect(states).toEqual(['lost']);
  });
});
