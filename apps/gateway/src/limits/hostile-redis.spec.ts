import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Secret } from '@libs/contracts';
import { eventually } from '@libs/platform/testing';
import type { RateLimit } from './rate-limiter';
import { RedisRateLimiter } from './redis-rate-limiter';
import { GRANTED, HostileRedis } from './testing/hostile-redis';

const LIMIT: RateLimit = { name: 'inference-requests', perMinute: 60, burst: 20 };
const MEBIBYTE = 1024 * 1024;
/** Sent again and again, so that only the receiver may need more memory. */
const A_MEBIBYTE = Buffer.alloc(MEBIBYTE, 'x');

describe('a Redis that is not one', () => {
  const states: string[] = [];
  let redis: HostileRedis;
  let limiter: RedisRateLimiter;
  let nowMs = 0;

  beforeEach(async () => {
    redis = await HostileRedis.start();
    states.splice(0);
    limiter = new RedisRateLimiter({
      url: new Secret(redis.url),
      keyPrefix: 'hostile:',
      replicas: 2,
      onStateChange: (state) => states.push(state),
      nowMs: () => nowMs + performance.now(),
    });
  });

  afterEach(async () => {
    limiter.close();
    await redis.close();
  });

  /** The share of this process: it did not believe Redis. */
  const expectOwnDecision = async (): Promise<void> => {
    const startedMs = performance.now();
    expect(await limiter.take(LIMIT, 'a')).toMatchObject({ allowed: true, limit: 10 });
    expect(performance.now() - startedMs).toBeLessThan(500);
  };

  const expectBack = async (): Promise<void> => {
    redis.onScript = (socket) => socket.write(GRANTED);
    redis.onConnection = () => undefined;
    await eventually(async () => {
      nowMs += 2_000;
      return (await limiter.take(LIMIT, 'b')).limit === 20;
    }, 'Redis decides again');
    expect(states).toEqual(['lost', 'back']);
  };

  it.each([
    ['a word', '+OK\r\n'],
    ['a number', ':5\r\n'],
    ['nothing', '$-1\r\n'],
    ['an empty list', '*0\r\n'],
    ['a list of one', '*1\r\n:0\r\n'],
    ['words in a list', '*2\r\n$1\r\n0\r\n$1\r\n0\r\n'],
    ['a list in a list', '*2\r\n:0\r\n*2\r\n:0\r\n:0\r\n'],
    ['a limit that was not asked for', '*2\r\n:7\r\n:0\r\n'],
    ['a negative limit', '*2\r\n:-1\r\n:0\r\n'],
    ['a number too large to count', '*2\r\n:1\r\n:99999999999999999999\r\n'],
    ['a number that is none', '*2\r\n:x\r\n:0\r\n'],
    ['a number of the newer protocol', ',nan\r\n'],
    ['a map', '%1\r\n+a\r\n+b\r\n'],
    ['a type that is not known', '@\r\n'],
    ['more replies than questions', '$-1\r\n$-1\r\n$-1\r\n'],
    ['a push of nothing', '>1\r\n_\r\n'],
    ['a push without a channel', '>1\r\n$9\r\nsubscribe\r\n'],
    ['lists in lists', '*1\r\n'.repeat(20_000)],
    ['an error', '-ERR no\r\n'],
    ['an answer that is cut', '*2\r\n:0\r\n:'],
  ])('is not believed and does no harm: %s', async (what, bytes) => {
    redis.onScript = (socket) => socket.write(bytes, () => what.includes('cut') && socket.destroy());
    await limiter.connect();
    await expectOwnDecision();
    await limiter.adjust(LIMIT, 'a', 1);
    // What is thrown by the client itself ends the process a moment later.
    await delay(20);
    await expectBack();
  });

  it('may speak without being asked', async () => {
    redis.onConnection = (socket) => setTimeout(() => socket.write('$-1\r\n_\r\n>1\r\n_\r\n'), 50);
    await limiter.connect();
    await delay(200);
    await limiter.take(LIMIT, 'a');
    redis.onConnection = () => undefined;
    await eventually(async () => (await limiter.take(LIMIT, 'b')).limit === 20, 'Redis decides');
  });

  it.each([
    ['a text without end', '$2000000000\r\n', 128],
    ['an error without end', '-', 128],
    ['a list without end', '*2000000000\r\n', 128],
    ['lists of a size that is only announced', '*33554432\r\n*33554432\r\n', 0],
  ])('takes no memory by %s', async (_what, head, mebibytes) => {
    redis.onScript = (socket) => {
      socket.write(head);
      for (let sent = 0; sent < mebibytes; sent += 1) socket.write(A_MEBIBYTE);
    };
    await limiter.connect();
    const before = memory();
    await expectOwnDecision();
    await delay(500);
    expect(memory() - before).toBeLessThan(32 * MEBIBYTE);
    nowMs += 2_000;
    await expectBack();
  });

  it.each([
    ['grants', GRANTED],
    ['words', '+OK\r\n'],
    ['errors', '-ERR no\r\n'],
  ])('is left when it answers more than it was asked: %s', async (_what, reply) => {
    redis.onScript = (socket) => socket.write(reply.repeat(2));
    await limiter.connect();
    await limiter.take(LIMIT, 'a');
    await eventually(() => redis.connections > 1, 'a new connection', 2_000);
    await expectBack();
  });

  it('is left when its answer comes a byte at a time and never ends', async () => {
    redis.onScript = (socket) => drip(socket);
    await limiter.connect();
    await expectOwnDecision();
    await eventually(
      async () => {
        nowMs += 1_000;
        await limiter.take(LIMIT, 'a');
        return redis.connections > 1;
      },
      'a new connection',
      10_000,
    );
    await expectBack();
  }, 20_000);

  it.each([
    ['never', () => undefined],
    ['a byte at a time', drip],
  ])(
    'does not keep the app from starting if it answers %s',
    async (_how, onHandshake) => {
      redis.onHandshake = onHandshake;
      const startedMs = performance.now();
      await limiter.connect();
      await expectOwnDecision();
      expect(performance.now() - startedMs).toBeLessThan(4_000);
      redis.onHandshake = undefined;
      await expectBack();
    },
    20_000,
  );
});

function memory(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function drip(socket: Socket): void {
  const timer = setInterval(() => socket.write('-'), 100);
  socket.on('close', () => clearInterval(timer));
}
