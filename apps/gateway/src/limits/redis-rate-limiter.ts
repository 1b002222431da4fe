import { Redis } from 'ioredis';
import type { Secret } from '@libs/contracts';
import { counter } from '@libs/platform';
import { LocalCellRates, cellRateOf, verdictOf, type CellRate } from './gcra';
import { RateLimiter, type RateLimit, type RateVerdict } from './rate-limiter';

export interface RedisRateLimiterOptions {
  readonly url: Secret;
  readonly keyPrefix: string;
  /** How many processes share a limit: what each of them allows alone when Redis is away. */
  readonly replicas: number;
  /** Told once when Redis is lost and once when it is back. */
  readonly onStateChange: (state: 'lost' | 'back') => void;
  /** Monotonic milliseconds. */
  readonly nowMs?: () => number;
}

const COMMAND_TIMEOUT_MS = 75;
/** After a failure, so that a Redis that hangs slows one request and not every one. */
const PAUSE_MS = 1_000;

/**
 * KEYS[1] state · ARGV interval and burst in microseconds. By Redis' clock, so the clocks of the processes do
 * not matter. Returns whether it was allowed and how far ahead the theoretical arrival time lies, in µs.
 */
const TAKE = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local interval = tonumber(ARGV[1])
local burst = tonumber(ARGV[2])
local arrival = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now)
if arrival + interval - now > burst then return {0, arrival - now} end
arrival = arrival + interval
redis.call('SET', KEYS[1], string.format('%.0f', arrival), 'PX', math.ceil((arrival - now) / 1000) + 1)
return {1, arrival - now}`;

const GIVE_BACK = `
local arrival = redis.call('GET', KEYS[1])
if not arrival then return 0 end
redis.call('SET', KEYS[1], string.format('%.0f', arrival - tonumber(ARGV[1])), 'KEEPTTL')
return 1`;

interface Commands extends Redis {
  takeCell(key: string, intervalMicros: number, burstMicros: number): Promise<[number, number]>;
  giveCellBack(key: string, intervalMicros: number): Promise<number>;
}

const fallbacks = counter({
  name: 'sluice_rate_limiter_local_decisions_total',
  help: 'Rate limit decisions made without Redis',
});

/**
 * One limit for all processes, decided in one Lua call. When Redis is down or hangs each process decides by
 * itself with its share of the limit: a limit keeps the service fair, and money never depends on it. A
 * request waits for Redis at most once in `PAUSE_MS`, and then no longer than `COMMAND_TIMEOUT_MS`.
 */
export class RedisRateLimiter extends RateLimiter {
  private readonly redis: Commands;
  private readonly local: LocalCellRates;
  private readonly nowMs: () => number;
  private pausedUntilMs = 0;
  private isLost = false;

  constructor(private readonly options: RedisRateLimiterOptions) {
    super();
    this.nowMs = options.nowMs ?? (() => performance.now());
    this.local = new LocalCellRates(this.nowMs);
    this.redis = new Redis(options.url.reveal(), {
      keyPrefix: `${options.keyPrefix}rate:`,
      commandTimeout: COMMAND_TIMEOUT_MS,
      connectTimeout: 1_000,
      disconnectTimeout: 100,
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      retryStrategy: (times) => Math.min(times * 100, 1_000),
      lazyConnect: true,
    }) as Commands;
    this.redis.defineCommand('takeCell', { numberOfKeys: 1, lua: TAKE });
    this.redis.defineCommand('giveCellBack', { numberOfKeys: 1, lua: GIVE_BACK });
    // Every failure is seen by the call that meets it; without a listener it would end the process.
    this.redis.on('error', () => this.lost());
  }

  /** Resolves when Redis answered or turned out to be away; the limiter works either way. */
  async connect(): Promise<void> {
    try {
      await this.redis.connect();
    } catch {
      this.lost();
    }
  }

  close(): void {
    this.redis.disconnect();
  }

  override async take(limit: RateLimit, entity: string): Promise<RateVerdict> {
    const rate = cellRateOf(limit);
    const key = `${limit.name}:${entity}`;
    const micros = rate.intervalMs * 1_000;
    const answer = await this.ask(() => this.redis.takeCell(key, micros, micros * rate.burst));
    if (answer !== null) return verdictOf(rate, answer[0] === 1, answer[1] / 1_000);
    fallbacks.inc();
    return this.local.take(key, this.ownShare(rate));
  }

  override async giveBack(limit: RateLimit, entity: string): Promise<void> {
    const rate = cellRateOf(limit);
    const key = `${limit.name}:${entity}`;
    const answer = await this.ask(() => this.redis.giveCellBack(key, rate.intervalMs * 1_000));
    if (answer === null) this.local.giveBack(key, this.ownShare(rate));
  }

  private async ask<T>(command: () => Promise<T>): Promise<T | null> {
    if (this.redis.status !== 'ready' || this.nowMs() < this.pausedUntilMs) return null;
    try {
      const answer = await command();
      this.back();
      return answer;
    } catch {
      // Whatever the reason, the answer is the same: decide without Redis, and look again in a while.
      this.lost();
      return null;
    }
  }

  private lost(): void {
    this.pausedUntilMs = this.nowMs() + PAUSE_MS;
    if (this.isLost) return;
    this.isLost = true;
    this.options.onStateChange('lost');
  }

  private back(): void {
    if (!this.isLost) return;
    this.isLost = false;
    this.options.onStateChange('back');
  }

  private ownShare({ intervalMs, burst }: CellRate): CellRate {
    const { replicas } = this.options;
    return { intervalMs: intervalMs * replicas, burst: Math.max(1, Math.floor(burst / replicas)) };
  }
}
