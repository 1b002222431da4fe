import { randomBytes, randomUUID } from 'node:crypto';
import { setImmediate as nextRound, setTimeout as delay } from 'node:timers/promises';
import { hashApiKey, mintApiKey, mintId, Secret, VerifyKey, type Principal } from '@libs/contracts';
import { createDataSource, Database, GenerationsRepository, LedgerRepository } from '@libs/persistence';
import { createTestDatabase } from '@libs/persistence/testing';
import { FakeMessageBus } from '@libs/platform/testing';
import { KeyDirectory } from '@libs/platform';
import { KnownKeys } from '../apps/gateway/src/auth/known-keys';
import { GenerationRecorder } from '../apps/gateway/src/generations/generation-recorder';
import { InferenceLimits } from '../apps/gateway/src/limits/inference-limits';
import { RedisRateLimiter } from '../apps/gateway/src/limits/redis-rate-limiter';
import { runBenchmark } from './support/comparison';
import { median, rounded } from './support/statistics';

/**
 * What it costs to let a call in and charge it: the key is known, requests and tokens are counted in Redis, a hold
 * and a charge go to PostgreSQL in group commits. The same loop of concurrent callers with one round of the event
 * loop in the place of the provider, with and without each of these; in CPU time of this process per call.
 */
const CALLERS = Number(process.env.BENCH_CALLERS ?? 64);
const SECONDS = Number(process.env.BENCH_ROUND_SECONDS ?? 4);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const HOLD_PICO_USD = 100_000_000n;
const COST_PICO_USD = 20_000_000n;
const PROMPT_TOKENS = 200;
const ANSWER_TOKENS = 50;
const MOST_WAITING = 2_000;
const NO_LIMIT_IN_SIGHT = 100_000_000;
const silent = { log: () => {}, warn: () => {}, error: () => {} };

interface Parts {
  readonly checkKey: () => Promise<Principal | null> | Principal | null;
  readonly limits: InferenceLimits;
  readonly recorder: GenerationRecorder;
  readonly owner: { readonly organizationId: string; readonly workspaceId: string };
}

interface Steps {
  readonly key: boolean;
  readonly limit: boolean;
  readonly books: boolean;
}

/** One call, as the gateway makes it. */
async function call({ checkKey, limits, recorder, owner }: Parts, steps: Steps): Promise<void> {
  if (steps.key && (await checkKey()) === null) throw new Error('the key was refused');
  const expected = { promptTokens: PROMPT_TOKENS, maxTokens: ANSWER_TOKENS, answers: 1 };
  const admission = steps.limit ? limits.admit(owner.workspaceId, expected) : null;
  const ticket = steps.books ? recorder.open(openingOf(owner), HOLD_PICO_USD) : null;
  await admission?.decided;
  await ticket?.covered;
  await nextRound();
  admission?.used(PROMPT_TOKENS + ANSWER_TOKENS - 5);
  ticket?.settle(OUTCOME);
}

const OUTCOME = {
  provider: 'bench',
  upstreamModel: 'bench',
  upstreamId: null,
  statusCode: 200,
  outcome: 'completed',
  finishReason: 'stop',
  usageProvenance: 'upstream',
  promptTokens: PROMPT_TOKENS,
  completionTokens: ANSWER_TOKENS,
  cachedTokens: 0,
  reasoningTokens: 0,
  costUsd: '0.00002',
  costPicoUsd: COST_PICO_USD,
  latencyMs: 1,
  generationMs: 1,
  details: { attempts: [] },
} as const;

function openingOf(owner: Parts['owner']) {
  const createdOn = new Date().toISOString().slice(0, 10);
  return {
    ...owner,
    id: mintId('gen'),
    createdOn,
    apiKeyHash: 'c'.repeat(64),
    api: 'chat',
    model: 'bench/chat',
    streamed: false,
    keyLimit: null,
  };
}

/** CPU microseconds of this process per call. */
async function measureSteps(parts: Parts, steps: Steps): Promise<number> {
  const endMs = performance.now() + SECONDS * 1_000;
  let calls = 0;
  const before = process.cpuUsage();
  const caller = async (): Promise<void> => {
    while (performance.now() < endMs) {
      // Nothing here is as slow as a provider, so callers wait for PostgreSQL before the recorder would refuse them.
      while (parts.recorder.waiting > MOST_WAITING) await delay(1);
      await call(parts, steps);
      calls += 1;
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  await parts.recorder.flush();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}

const VARIANTS: Readonly<Record<string, Steps>> = {
  nothing: { key: false, limit: false, books: false },
  key: { key: true, limit: false, books: false },
  limit: { key: false, limit: true, books: false },
  books: { key: false, limit: false, books: true },
  all: { key: true, limit: true, books: true },
};

async function measure(parts: Parts): Promise<object> {
  const found: Record<string, number[]> = {};
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const [name, steps] of Object.entries(VARIANTS)) {
      const micros = await measureSteps(parts, steps);
      if (round > 0) (found[name] ??= []).push(micros);
    }
  }
  const micros = Object.fromEntries(Object.entries(found).map(([name, each]) => [name, rounded(median(each), 1)]));
  const added = (name: string): number => rounded(micros[name]! - micros['nothing']!, 1);
  return {
    benchmark: 'admission',
    callers: CALLERS,
    cpu_micros_per_call: micros,
    added_micros: { key: added('key'), limit: added('limit'), books: added('books'), all: added('all') },
  };
}

runBenchmark(async () => {
  const created = await createTestDatabase();
  const dataSource = await createDataSource({ url: created.url, poolSize: 16, applicationName: 'bench' }).initialize();
  const database = new Database(dataSource);
  const owner = { organizationId: randomUUID(), workspaceId: randomUUID() };
  await new LedgerRepository(database).topUp(owner.organizationId, '1000000', randomUUID());
  const limiter = new RedisRateLimiter({
    url: new Secret(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379'),
    keyPrefix: `bench-${randomBytes(4).toString('hex')}:`,
    replicas: 1,
    onStateChange: () => undefined,
  });
  await limiter.connect();
  const key = mintApiKey('sluice', 'api');
  const principal = { keyHash: hashApiKey(key), kind: 'api', expiresAt: null, ...owner } as Principal;
  const directory = new KeyDirectory(new FakeMessageBus().answers(VerifyKey, () => ({ principal })));
  const known = new KnownKeys();
  const env = {
    INFERENCE_REQUESTS_PER_MINUTE: NO_LIMIT_IN_SIGHT,
    INFERENCE_TOKENS_PER_MINUTE: NO_LIMIT_IN_SIGHT * 1_000,
  };
  try {
    return await measure({
      checkKey: () => directory.find(known.hashOf(key)!),
      limits: new InferenceLimits(limiter, env),
      recorder: new GenerationRecorder(new GenerationsRepository(database), async (opening) => opening, silent),
      owner,
    });
  } finally {
    limiter.close();
    await dataSource.destroy();
    await created.drop();
  }
});
