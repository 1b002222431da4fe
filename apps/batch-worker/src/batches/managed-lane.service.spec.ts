import type { Principal } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { NO_LOSS, ReplyBudget, type Attempt, type CatalogueSource, type InferenceEngine } from '@libs/inference';
import { aCatalogue, aModel, anEndpoint, aProvider, noteAttempts } from '@libs/inference/testing';
import {
  ALONE_FROM,
  type BatchFundsRepository,
  type BatchLine,
  type BatchResultsRepository,
  type BatchSegmentsRepository,
  type ClaimedSegment,
  type KeptOut,
  type LineOutcome,
} from '@libs/persistence';
import { ServicesEnv } from '@libs/platform';
import type { BatchWorkerEnv } from '../batch-worker.env';
import type { BatchKeys } from './batch-keys';
import type { FinalizerService } from './finalizer.service';
import { LineRunnerService } from './line-runner.service';
import { ManagedLaneService } from './managed-lane.service';

const CONCURRENCY = 16;
const SEGMENT_LINES = 16;
const DAY_MS = 86_400_000;
const LINE: Omit<BatchLine, 'seq'> = { customId: 'line', body: Buffer.from('{"messages":[]}') };

const modelOf = (provider: string) =>
  aModel({
    slug: `${provider}/model`,
    endpoints: [anEndpoint({ provider: aProvider({ slug: provider }), upstreamModel: 'model' })],
  });

/** Segments of two batches of one workspace, the first one's before the second one's. */
class FakeSegments {
  /** Times that segments were given back. */
  released = 0;

  constructor(
    private readonly open: ClaimedSegment[],
    private readonly body: Buffer = LINE.body,
  ) {}

  async claim(limit: number, _leaseMs: number, { keptOut }: { readonly keptOut: KeptOut }): Promise<ClaimedSegment[]> {
    const isKeptOut = ({ account, upstreamModel, apiKeyHash }: ClaimedSegment): boolean =>
      keptOut.apiKeyHashes.includes(apiKeyHash) ||
      keptOut.models.some((one) => one.account === account && one.upstreamModel === upstreamModel);
    const claimed = this.open.filter((segment) => !isKeptOut(segment)).slice(0, Math.min(4, limit));
    for (const segment of claimed) this.open.splice(this.open.indexOf(segment), 1);
    return claimed;
  }

  /** Whether segments of a batch can be claimed. */
  hasOpen(batchNumber: bigint): boolean {
    return this.open.some((segment) => segment.batchNumber === batchNumber);
  }

  /** How often lines cannot be read, and segments not be given back, from now on. */
  failures = { lines: 0, release: 0 };

  async unfinishedLines(segments: readonly ClaimedSegment[]): Promise<BatchLine[][]> {
    this.failures.lines -= 1;
    if (this.failures.lines >= 0) throw new Error('PostgreSQL is away');
    return segments.map(({ batchNumber, firstSeq }) => {
      const lines = Array.from({ length: SEGMENT_LINES }, (_, at) => ({
        ...LINE,
        body: this.body,
        seq: firstSeq + at,
      }));
      return lines.filter(
        ({ seq }) => !outcomes.some((one) => one.lease.batchNumber === batchNumber && one.seq === seq),
      );
    });
  }

  async release(segments: readonly ClaimedSegment[]): Promise<void> {
    this.failures.release -= 1;
    if (this.failures.release >= 0) throw new Error('PostgreSQL is away');
    this.released += segments.length;
    this.open.push(...segments);
  }

  /** Segments whose next line must run alone. */
  suspects: ClaimedSegment[] = [];

  async hasSuspects(): Promise<boolean> {
    return this.suspects.length > 0;
  }

  async beginAlone(): Promise<boolean> {
    return true;
  }

  async claimSuspect(): Promise<ClaimedSegment | null> {
    return this.suspects.pop() ?? null;
  }

  async renew(leases: readonly ClaimedSegment[]): Promise<readonly ClaimedSegment[]> {
    return leases;
  }
}

const attempt = (isByok: boolean): Attempt => ({
  model: 'model',
  providerName: 'provider',
  providerSlug: 'provider',
  status: 429,
  errorCode: null,
  end: 'ok',
  tookMs: 2,
  isByok,
});

type Admission = (provider: string, workspaceId: string) => AppError | null | Promise<never>;

/** Answers whom it has room for, and asks the others to wait. */
class FakeEngine {
  calls = 0;
  inFlight = 0;

  constructor(private readonly admits: Admission) {}

  async callEndpoint(
    _api: unknown,
    { endpoint }: { endpoint: { provider: { slug: string } } },
    { scope }: { scope: { workspaceId: string } },
  ): Promise<object> {
    this.calls += 1;
    this.inFlight += 1;
    inFlightAtBegin.set(scope.workspaceId, [...(inFlightAtBegin.get(scope.workspaceId) ?? []), this.inFlight]);
    await new Promise((resolve) => setTimeout(resolve, 2));
    this.inFlight -= 1;
    const refusal = await this.admits(endpoint.provider.slug, scope.workspaceId);
    if (refusal !== null) throw noteAttempts(refusal, [attempt(scope.workspaceId !== 'workspace')]);
    const usage = { promptTokens: 1, completionTokens: 1, audioPromptTokens: 0, audioCompletionTokens: 0 };
    const cost = { promptCost: 0n, completionCost: 0n, totalCost: 0n };
    return { status: 200, body: Buffer.from('{}'), usage, cost, losses: NO_LOSS };
  }
}

/** `credential`: of the workspace's own, which has its name. */
function segmentsOf(provider: string, batchNumber: bigint, count: number, credential?: string): ClaimedSegment[] {
  return Array.from({ length: count }, (_, number) => ({
    batchNumber,
    number,
    fence: 1n,
    createdOn: '2026-11-22',
    firstSeq: number * SEGMENT_LINES,
    lastSeq: (number + 1) * SEGMENT_LINES - 1,
    attempts: 1,
    batchId: `batch-1763715600-0123456789ABCDEFGHI${batchNumber}`,
    endpoint: '/v1/chat/completions',
    model: `${provider}/model`,
    provider,
    upstreamModel: 'model',
    account: credential === undefined ? provider : `${provider}:${credential}`,
    isOwnKey: credential !== undefined,
    organizationId: 'organization',
    workspaceId: credential ?? 'workspace',
    apiKeyHash: 'hash',
    expiresAtMs: Date.now() + DAY_MS,
    windowEndsAtMs: performance.now() + DAY_MS,
  }));
}

const outcomes: LineOutcome[] = [];
/** Calls in flight when one began, with it, by workspace. */
const inFlightAtBegin = new Map<string, number[]>();
const lanes: ManagedLaneService[] = [];

function runLane(segments: FakeSegments, admits: Admission): ManagedLaneService {
  const catalogue = aCatalogue(modelOf('narrow'), modelOf('wide'));
  const runner = new LineRunnerService(
    new FakeEngine(admits) as unknown as InferenceEngine,
    { current: () => catalogue } as CatalogueSource,
    { principalOf: () => ({}) as Principal } as unknown as BatchKeys,
    new ServicesEnv(),
  );
  const results = {
    store: async (stored: readonly LineOutcome[]) => {
      outcomes.push(...stored);
      return { stored: stored.length, batchesWithDoneSegments: [], batchesAheadOfHold: [] };
    },
  };
  const lane = new ManagedLaneService(
    { BATCH_CONCURRENCY: CONCURRENCY, DRAIN_SECONDS: 25 } as BatchWorkerEnv,
    segments as unknown as BatchSegmentsRepository,
    results as unknown as BatchResultsRepository,
    runner,
    {} as FinalizerService,
    { current: () => catalogue } as CatalogueSource,
    {} as BatchFundsRepository,
    { principalOf: () => ({}) as Principal } as unknown as BatchKeys,
    new ReplyBudget(Infinity),
  );
  lanes.push(lane);
  lane.start();
  return lane;
}

async function untilOutcomes(count: number): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (outcomes.length < count && performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  expect(outcomes).toHaveLength(count);
}

async function eventually(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!condition() && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(condition()).toBe(true);
}

beforeEach(() => {
  outcomes.splice(0);
  inFlightAtBegin.clear();
});

afterEach(async () => {
  await Promise.all(lanes.splice(0).map((lane) => lane.drain()));
});

describe(ManagedLaneService.name, () => {
  it('has every line answered by a provider that takes one at a time and asks for a moment of quiet', async () => {
    let nextAtMs = 0;
    runLane(new FakeSegments(segmentsOf('narrow', 1n, 4)), () => {
      const nowMs = performance.now();
      if (nowMs < nextAtMs) return new AppError('rate_limit_exceeded', 'Too many', { retryAfterSeconds: 0.02 });
      nextAtMs = nowMs + 15;
      return null;
    });
    await untilOutcomes(4 * SEGMENT_LINES);
    expect(outcomes.filter(({ error }) => error !== null)).toEqual([]);
  }, 30_000);

  it.each([
    ['with a time to wait', { retryAfterSeconds: 0.02 }],
    ['without one', {}],
  ])(
    'keeps no lines of others waiting for a provider that refuses all %s',
    async (_how, options) => {
      const segments = [...segmentsOf('narrow', 1n, 200), ...segmentsOf('wide', 2n, 4)];
      runLane(new FakeSegments(segments), (provider) =>
        provider === 'narrow' ? new AppError('rate_limit_exceeded', 'Too many', options) : null,
      );
      await untilOutcomes(4 * SEGMENT_LINES);
      expect(new Set(outcomes.map(({ lease }) => lease.batchNumber))).toEqual(new Set([2n]));
    },
    30_000,
  );

  it.each([
    ['with a time to wait', { retryAfterSeconds: 60 }],
    ['without one', {}],
  ])(
    'keeps nobody else from a provider that has enough of one key of a caller, and refuses %s',
    async (_how, options) => {
      const limited = segmentsOf('wide', 1n, 200, 'limited');
      const others = [...segmentsOf('wide', 2n, 4), ...segmentsOf('wide', 3n, 4, 'another')];
      const calls = { limited: 0 };
      runLane(new FakeSegments([...limited, ...others]), (_provider, workspaceId) => {
        if (workspaceId !== 'limited') return null;
        calls.limited += 1;
        return new AppError('rate_limit_exceeded', 'Too many', options);
      });
      await untilOutcomes(8 * SEGMENT_LINES);
      expect(new Set(outcomes.map(({ lease }) => lease.batchNumber))).toEqual(new Set([2n, 3n]));
      // Its own lines have waited for it.
      expect(calls.limited).toBeLessThan(5 * CONCURRENCY);
    },
    30_000,
  );

  it('keeps no lines of others waiting for a provider that takes every slot and never answers', async () => {
    let laterMs = 0;
    const realNow = performance.now.bind(performance);
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => realNow() + laterMs);
    const hung = Promise.withResolvers<never>();
    const lane = runLane(new FakeSegments([...segmentsOf('narrow', 1n, 8), ...segmentsOf('wide', 2n, 4)]), (provider) =>
      provider === 'narrow' ? hung.promise : null,
    );
    for (let looks = 0; looks < 100 && inFlightAtBegin.get('workspace')?.length !== CONCURRENCY; looks += 1) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    laterMs = 31_000;
    lane.wake();
    await untilOutcomes(4 * SEGMENT_LINES);
    expect(new Set(outcomes.map(({ lease }) => lease.batchNumber))).toEqual(new Set([2n]));
    hung.reject(new AppError('rate_limit_exceeded', 'Too many'));
    clock.mockRestore();
  }, 30_000);

  it('gives segments back whose lines it could not read, as soon as PostgreSQL is there', async () => {
    const segments = new FakeSegments(segmentsOf('wide', 1n, 8));
    segments.failures = { lines: 2, release: 1 };
    const lane = runLane(segments, () => null);
    for (let looks = 0; looks < 4; looks += 1) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      lane.wake();
    }
    await untilOutcomes(8 * SEGMENT_LINES);
    expect(segments.released).toBe(8);
  }, 30_000);

  it('gives a suspect back whose lines it could not read: they were not called', async () => {
    const segments = new FakeSegments([]);
    segments.suspects = segmentsOf('wide', 1n, 1).map((one) => ({ ...one, attempts: ALONE_FROM }));
    segments.failures = { lines: 1, release: 0 };
    runLane(segments, () => null);
    for (let looks = 0; looks < 500 && segments.released === 0; looks += 1) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(segments.released).toBe(1);
  }, 30_000);

  it('runs the first line of a suspect alone, its others one at a time, and everything else beside them', async () => {
    const segments = new FakeSegments(segmentsOf('wide', 1n, 20));
    segments.suspects = segmentsOf('wide', 2n, 1, 'suspect').map((one) => ({ ...one, attempts: ALONE_FROM }));
    runLane(segments, () => null);
    await untilOutcomes(21 * SEGMENT_LINES);
    expect(inFlightAtBegin.get('suspect')![0]).toBe(1);
    expect(Math.max(...inFlightAtBegin.get('workspace')!)).toBe(CONCURRENCY);
    expect(outcomes.filter(({ error }) => error !== null)).toEqual([]);
  }, 30_000);

  it('gives large lines back that may not be called now, where they take the room of lines that may', async () => {
    const large = Buffer.alloc(1024 * 1024, ' ');
    const segments = new FakeSegments([...segmentsOf('narrow', 1n, 8), ...segmentsOf('wide', 2n, 4)], large);
    runLane(segments, (provider) =>
      provider === 'narrow' ? new AppError('rate_limit_exceeded', 'Too many', { retryAfterSeconds: 60 }) : null,
    );
    await untilOutcomes(4 * SEGMENT_LINES);
    expect(segments.released).toBeGreaterThanOrEqual(2);
    expect(new Set(outcomes.map(({ lease }) => lease.batchNumber))).toEqual(new Set([2n]));
  }, 30_000);

  it('keeps no line from another worker, where it alone cannot reach the provider', async () => {
    const segments = new FakeSegments(segmentsOf('wide', 1n, 8));
    const blind = { calls: 0 };
    const away = new AppError('provider_unavailable', 'not there');
    runLane(segments, () => ((blind.calls += 1), away));
    await eventually(() => blind.calls >= CONCURRENCY);
    runLane(segments, () => null);
    await untilOutcomes(8 * SEGMENT_LINES);
    expect(outcomes.filter(({ error }) => error !== null)).toEqual([]);
    expect(segments.released).toBeGreaterThan(0);
  }, 30_000);

  it('keeps no line from another worker, where it alone cannot ask about the key', async () => {
    const segments = new FakeSegments(segmentsOf('wide', 1n, 8));
    const blind = { calls: 0 };
    runLane(segments, () => ((blind.calls += 1), new AppError('unavailable', 'The broker is away')));
    await eventually(() => blind.calls >= CONCURRENCY);
    runLane(segments, () => null);
    await untilOutcomes(8 * SEGMENT_LINES);
    expect(outcomes.filter(({ error }) => error !== null)).toEqual([]);
  }, 30_000);

  it('ends lines that failed before it gives them back, where their window is nearly over', async () => {
    const ending = segmentsOf('wide', 1n, 4).map((one) => ({ ...one, windowEndsAtMs: performance.now() + 121_000 }));
    runLane(new FakeSegments(ending), () => new AppError('provider_unavailable', 'not there'));
    await eventually(() => outcomes.length >= CONCURRENCY);
    expect(new Set(outcomes.map(({ error }) => error?.error_type))).toEqual(new Set(['provider_unavailable']));
  }, 30_000);

  it('fetches lines for the probe that is due, though enough of others are held and every slot is taken', async () => {
    const hung = Promise.withResolvers<never>();
    const segments = new FakeSegments([...segmentsOf('narrow', 1n, 1), ...segmentsOf('wide', 2n, 16)]);
    runLane(segments, (provider) =>
      provider === 'wide' ? hung.promise : new AppError('provider_unavailable', 'not there'),
    );
    await eventually(() => segments.released > 0);
    await eventually(() => !segments.hasOpen(1n));
    hung.reject(new AppError('rate_limit_exceeded', 'Too many'));
  }, 60_000);

  it.each([
    ['was quiet for a moment', { retryAfterSeconds: 1 }],
    ['takes few calls at once', {}],
  ])(
    'comes back without delay to large lines of a provider that %s',
    async (_what, options) => {
      const large = Buffer.alloc(1024 * 1024, ' ');
      const segments = new FakeSegments([...segmentsOf('narrow', 1n, 8), ...segmentsOf('wide', 2n, 4)], large);
      const refusesUntilMs = performance.now() + 1_500;
      runLane(segments, (provider) =>
        provider === 'narrow' && performance.now() < refusesUntilMs
          ? new AppError('rate_limit_exceeded', 'Too many', options)
          : null,
      );
      await untilOutcomes(12 * SEGMENT_LINES);
      expect(outcomes.filter(({ error }) => error !== null)).toEqual([]);
    },
    30_000,
  );
});
