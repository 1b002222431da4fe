import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { Secret } from '@libs/contracts';
import { TcpProxy } from '@libs/platform/testing';
import { RedisRateLimiter } from './redis-rate-limiter';
import type { RateLimit } from './rate-limiter';

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
    const { hostname, port } = new URL(URL_OF_REDIS);
    proxy = await TcpProxy.start({ host: hostname, port: Number(port || 6_379) });
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

  it('forgets an entity when its limit is whole again', async () => {
    const limiter = await start();
    await limiter.take({ ...LIMIT, perMinute: 60_000 }, 'a');
    const [key] = await admin.keys(`${keyPrefix}*`);
    expect(key).toBe(`${keyPrefix}rate:batch-submissions:a`);
    expect(await admin.pttl(key!)).toBeLessThanOrEqual(3);
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

  it('slows one request by less than 100 ms when Redis hangs, and the next ones not at all', async () => {
    const limiter = await start(proxy.through(URL_OF_REDIS));
    await limiter.take(LIMIT, 'a');
    proxy.hold();
    const timed = async (): Promise<number> => {
      const startedMs = performance.now();
      await limiter.take(LIMIT, 'a');
      return performance.now() - startedMs;
    };
    expect(await timed()).toBeLessThan(100);
    const rest = await Promise.all(Array.from({ length: 50 }, timed));
    expect(Math.max(...rest)).toBeLessThan(50);
  });

  it('starts and limits when there is no Redis at all', async () => {
    const limiter = await start('redis://127.0.0.1:1');
    expect((await limiter.take(LIMIT, 'a')).allowed).toBe(true);
    expect(states).toEqual(['lost']);
  });
});
