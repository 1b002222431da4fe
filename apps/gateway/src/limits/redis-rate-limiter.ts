import { Redis } from 'ioredis';
import type { Secret } from '@libs/contracts';
import { counter } from '@libs/platform';
import { cellRateOf, LocalCellRates, verdictOf, type CellDemand } from './gcra';
import { RateLimiter, type RateDemand, type RateLimit, type RateVerdict } from './rate-limiter';
import { RedisConnector } from './redis-connector';
import { RefusedEntities } from './refused-entities';

export interface RedisRateLimiterOptions {
  readonly url: Secret;
  readonly keyPrefix: string;
  /** How many processes share a limit. While Redis is unavailable, each allows the limit divided by this number. */
  readonly replicas: number;
  /** Called once when Redis becomes unavailable and once when it is back. */
  readonly onStateChange: (state: 'lost' | 'back') => void;
  /** Monotonic milliseconds. */
  readonly nowMs?: () => number;
}

const ANSWER_TIMEOUT_MS = 75;
/**
 * Answer timeout of a limit that refuses without Redis: a short wait is better than a refusal if Redis or a core is
 * busy.
 */
const STRICT_ANSWER_TIMEOUT_MS = 1_000;
/** A connection without any answer for this long is replaced by a new one, also if bytes arrive. */
const SILENCE_MS = 2_000;
/** Pause after a failure, so that a hanging Redis slows one request and not every one. */
const PAUSE_MS = 1_000;

/**
 * KEYS: the states. ARGV, for each state: the requested amount and the burst, in microseconds. Uses the clock of Redis,
 * so the clocks of the processes do not matter. Writes all states or none. Returns the number of the state that needs
 * the longest time to have room, or 0 if all have room, and how far ahead the theoretical arrival time of that state
 * (or of the first) is, in µs.
 */
const TAKE = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local arrivals, worst, longest, ahead = {}, 0, 0, 0
for i, key in ipairs(KEYS) do
  local wanted = tonumber(ARGV[2 * i - 1])
  local arrival = math.max(tonumber(redis.call('GET', key) or 0), now)
  local wait = arrival + wanted - now - tonumber(ARGV[2 * i])
  if wait > longest then worst, longest, ahead = i, wait, arrival - now end
  arrivals[i] = arrival + wanted
end
if worst > 0 then return {worst, ahead} end
for i, key in ipairs(KEYS) do
  redis.call('SET', key, string.format('%.0f', arrivals[i]), 'PX', math.ceil((arrivals[i] - now) / 1000) + 1)
end
return {0, arrivals[1] - now}`;

/** KEYS[1]: the state. ARGV[1]: the amount to take in addition, or to give back if negative, in microseconds. */
const ADJUST = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local arrival = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now) + tonumber(ARGV[1])
if arrival <= now then return redis.call('DEL', KEYS[1]) end
redis.call('SET', KEYS[1], string.format('%.0f', arrival), 'PX', math.ceil((arrival - now) / 1000) + 1)
return 1`;

interface Commands extends Redis {
  takeCells(keyCount: number, ...keysAndMicros: (string | number)[]): Promise<unknown>;
  adjustCell(key: string, micros: number): Promise<unknown>;
}

const fallbacks = counter({
  name: 'sluice_rate_limiter_local_decisions_total',
  help: 'Rate limit decisions made without Redis',
});
const refusals = counter({
  name: 'sluice_rate_limit_refusals_total',
  help: 'Requests that were refused because of a limit',
  labelNames: ['limit'],
});

/**
 * One limit for all processes, decided by one Lua call in Redis. While Redis is down or hangs, each process decides by
 * itself with its share of the limit, or refuses, depending on the limit. That is safe because limits keep the service
 * fair and money never depends on them. While Redis is unavailable, one request per `PAUSE_MS` checks whether it is
 * back, and so does each request that would otherwise be refused. No request waits longer than `ANSWER_TIMEOUT_MS`, or
 * `STRICT_ANSWER_TIMEOUT_MS` if the limit refuses.
 */
export class RedisRateLimiter extends RateLimiter {
  private readonly redis: Commands;
  private readonly local: LocalCellRates;
  private readonly refused: RefusedEntities;
  private readonly nowMs: () => number;
  private pausedUntilMs = 0;
  private isLost = false;
  /** When the first command was sent that has no answer yet; null without one. */
  private unansweredSinceMs: number | null = null;

  constructor(private readonly options: RedisRateLimiterOptions) {
    super();
    this.nowMs = options.nowMs ?? (() => performance.now());
    this.local = new LocalCellRates(this.nowMs);
    this.refused = new RefusedEntities(this.nowMs);
    this.redis = new Redis(options.url.reveal(), {
      keyPrefix: `${options.keyPrefix}rate:`,
      socketTimeout: SILENCE_MS,
      connectTimeout: 1_000,
      disconnectTimeout: 100,
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      retryStrategy: (times) => Math.min(times * 100, 1_000),
      lazyConnect: true,
      Connector: RedisConnector,
      // The replies to `HELLO`, `CLIENT` and `INFO` are none that the connector knows, and none is needed.
      protocol: 2,
      disableClientInfo: true,
      enableReadyCheck: false,
    }) as Commands;
    this.redis.defineCommand('takeCells', { lua: TAKE });
    this.redis.defineCommand('adjustCell', { numberOfKeys: 1, lua: ADJUST });
    // Each failure is handled by the call that meets it; without a listener it would end the process.
    this.redis.on('error', () => this.lost());
    this.redis.on('connect', () => setTimeout(() => this.leaveUnready(), SILENCE_MS).unref());
  }

  /** Resolves when Redis let us in or turned out to be away; the limiter works either way. */
  async connect(): Promise<void> {
    try {
      await inTime(this.redis.connect(), SILENCE_MS);
    } catch {
      this.lost();
    }
  }

  close(): void {
    this.redis.disconnect();
  }

  override async takeAll(demands: readonly RateDemand[], entity: string): Promise<RateVerdict> {
    const cells = demands.map((demand) => cellsOf(demand, entity));
    return this.findRefusal(demands, cells) ?? (await this.decide(demands, cells));
  }

  override async adjust(limit: RateLimit, entity: string, count: number): Promise<void> {
    const cell = { key: `${limit.name}:${entity}`, rate: cellRateOf(limit), count };
    this.refused.forget(cell.key);
    const answer = await this.ask(() => this.redis.adjustCell(cell.key, microsOf(cell)));
    if (answer === null) this.local.adjust(this.ownShare(cell));
  }

  /** Returns a recent refusal without asking Redis; null if there is none. */
  private findRefusal(demands: readonly RateDemand[], cells: readonly CellDemand[]): RateVerdict | null {
    for (const [index, { key, count }] of cells.entries()) {
      const verdict = count === 1 ? this.refused.find(key) : null;
      if (verdict === null) continue;
      refusals.inc({ limit: demands[index]!.limit.name });
      return verdict;
    }
    return null;
  }

  private async decide(demands: readonly RateDemand[], cells: readonly CellDemand[]): Promise<RateVerdict> {
    const keys = cells.map(({ key }) => key);
    const micros = cells.flatMap((cell) => [microsOf(cell), cell.rate.intervalMs * 1_000 * cell.rate.burst]);
    const isStrict = demands.some(({ limit }) => limit.withoutStore === 'refuse');
    const take = async (): Promise<Taken> =>
      takenOf(await this.redis.takeCells(cells.length, ...keys, ...micros), cells);
    const answer = await this.ask(take, isStrict);
    if (answer === null) return this.decideAlone(demands, cells, isStrict);
    const [worst, aheadMicros] = answer;
    const { key, rate, count } = cells[Math.max(0, worst - 1)]!;
    if (worst === 0) return verdictOf(rate, true, aheadMicros / 1_000);
    const verdict = verdictOf(rate, false, aheadMicros / 1_000, count);
    refusals.inc({ limit: demands[worst - 1]!.limit.name });
    // A refusal of a larger count is not remembered, because a smaller count might be granted sooner.
    if (count === 1) this.refused.remember(key, verdict);
    return verdict;
  }

  private decideAlone(demands: readonly RateDemand[], cells: readonly CellDemand[], isStrict: boolean): RateVerdict {
    fallbacks.inc();
    if (isStrict) return { ...verdictOf(cells[0]!.rate, false, 0), isUndecided: true };
    const verdict = this.local.takeAll(cells.map((cell) => this.ownShare(cell)));
    if (!verdict.allowed) refusals.inc({ limit: demands[0]!.limit.name });
    return verdict;
  }

  private async ask<T>(command: () => Promise<T>, isStrict = false): Promise<T | null> {
    if (this.redis.status !== 'ready' || !(isStrict || this.mayAsk())) return null;
    this.unansweredSinceMs ??= performance.now();
    try {
      // A late answer is no longer of use, but it ends the silence.
      const answered = command().finally(() => (this.unansweredSinceMs = null));
      const answer = await inTime(answered, isStrict ? STRICT_ANSWER_TIMEOUT_MS : ANSWER_TIMEOUT_MS);
      this.back();
      return answer;
    } catch {
      // Whatever the reason: decides without Redis, and tries again later.
      this.lost();
      this.leaveSilent();
      return null;
    }
  }

  /** Leaves a connection whose greeting takes so long that it never ends. */
  private leaveUnready(): void {
    if (this.redis.status === 'connect') this.redis.disconnect(true);
  }

  /** Leaves a connection on which bytes arrive and no answer, so its socket does not time out. */
  private leaveSilent(): void {
    if (this.unansweredSinceMs === null || performance.now() - this.unansweredSinceMs < SILENCE_MS) return;
    this.unansweredSinceMs = null;
    this.redis.disconnect(true);
  }

  /**
   * Returns whether Redis may be asked. While it is unavailable, only one request at a time checks whether it is back.
   */
  private mayAsk(): boolean {
    if (!this.isLost) return true;
    const nowMs = this.nowMs();
    if (nowMs < this.pausedUntilMs) return false;
    this.pausedUntilMs = nowMs + PAUSE_MS;
    return true;
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

  private ownShare({ key, rate: { intervalMs, burst }, count }: CellDemand): CellDemand {
    const { replicas } = this.options;
    const share = { intervalMs: intervalMs * replicas, burst: Math.max(1, Math.floor(burst / replicas)) };
    return { key, rate: share, count: Math.min(count, share.burst) };
  }
}

/** The number of the limit that is in the way, or 0; and how far ahead its arrival time is, in µs. */
type Taken = readonly [worst: number, aheadMicros: number];

/** @throws Error for an answer that the script never gives */
function takenOf(answer: unknown, cells: readonly CellDemand[]): Taken {
  const [worst, ahead] = Array.isArray(answer) ? (answer as unknown[]) : [];
  const isOfScript = isCount(worst) && worst <= cells.length && isCount(ahead);
  if (!isOfScript) throw new Error('an answer that is not of the script');
  return [worst, ahead];
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** A reply that arrived while this process was busy is read before the timeout applies. */
function inTime<T>(answer: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => setImmediate(() => reject(new Error('no answer in time'))), timeoutMs);
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

function cellsOf({ limit, count }: RateDemand, entity: string): CellDemand {
  return { key: `${limit.name}:${entity}`, rate: cellRateOf(limit), count: Math.min(count, limit.burst) };
}

function microsOf({ rate, count }: CellDemand): number {
  return rate.intervalMs * 1_000 * count;
}
