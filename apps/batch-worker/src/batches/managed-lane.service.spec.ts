import type { Principal } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { CatalogueSource, InferenceEngine } from '@libs/inference';
import { aCatalogue, aModel, anEndpoint, aProvider } from '@libs/inference/testing';
import type {
  BatchLine,
  BatchResultsRepository,
  BatchSegmentsRepository,
  ClaimedSegment,
  LineOutcome,
} from '@libs/persistence';
import type { BatchWorkerEnv } from '../batch-worker.env';
import type { BatchKeys } from './batch-keys';
import type { FinalizerService } from './finalizer.service';
import { LineRunnerService } from './line-runner.service';
import { ManagedLaneService } from './managed-lane.service';

const CONCURRENCY = 16;
const SEGMENT_LINES = 16;
const LINE: Omit<BatchLine, 'seq'> = { customId: 'line', body: Buffer.from('{"messages":[]}') };

const modelOf = (provider: string) =>
  aModel({
    slug: `${provider}/model`,
    endpoints: [anEndpoint({ provider: aProvider({ slug: provider }), upstreamModel: 'model' })],
  });

/** Segments of two batches of one workspace, the first one's before the second one's. */
class FakeSegments {
  constructor(private readonly open: ClaimedSegment[]) {}

  async claim(
    limit: number,
    _leaseMs: number,
    { exceptProviders }: { readonly exceptProviders: readonly string[] },
  ): Promise<ClaimedSegment[]> {
    const claimed = this.open
      .filter(({ provider }) => !exceptProviders.includes(provider))
      .slice(0, Math.min(4, limit));
    for (const segment of claimed) this.open.splice(this.open.indexOf(segment), 1);
    return claimed;
  }

  async unfinishedLines(segments: readonly ClaimedSegment[]): Promise<BatchLine[][]> {
    return segments.map(({ firstSeq }) =>
      Array.from({ length: SEGMENT_LINES }, (_, index) => ({ ...LINE, seq: firstSeq + index })),
    );
  }

  async release(): Promise<void> {}

  async renew(leases: readonly ClaimedSegment[]): Promise<readonly ClaimedSegment[]> {
    return leases;
  }
}

/** Answers whom it has room for, and asks the others to wait. */
class FakeEngine {
  calls = 0;

  constructor(private readonly admits: (provider: string) => AppError | null) {}

  async callEndpoint(_api: unknown, { endpoint }: { endpoint: { provider: { slug: string } } }): Promise<object> {
    this.calls += 1;
    await new Promise((resolve) => setTimeout(resolve, 2));
    const refusal = this.admits(endpoint.provider.slug);
    if (refusal !== null) throw refusal;
    const usage = { promptTokens: 1, completionTokens: 1, audioPromptTokens: 0, audioCompletionTokens: 0 };
    const cost = { promptCost: 0n, completionCost: 0n, totalCost: 0n };
    return { status: 200, body: Buffer.from('{}'), usage, cost };
  }
}

function segmentsOf(provider: string, batchNumber: bigint, count: number): ClaimedSegment[] {
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
    organizationId: 'organization',
    workspaceId: 'workspace',
    apiKeyHash: 'hash',
    expiresAtMs: 0,
  }));
}

const outcomes: LineOutcome[] = [];
let lane: ManagedLaneService;

function runLane(segments: ClaimedSegment[], admits: (provider: string) => AppError | null): void {
  const catalogue = aCatalogue(modelOf('narrow'), modelOf('wide'));
  const runner = new LineRunnerService(
    new FakeEngine(admits) as unknown as InferenceEngine,
    { current: () => catalogue } as CatalogueSource,
    { principalOf: () => ({}) as Principal } as unknown as BatchKeys,
  );
  const results = {
    store: async (stored: readonly LineOutcome[]) => {
      outcomes.push(...stored);
      return { stored: stored.length, batchesWithDoneSegments: [] };
    },
  };
  lane = new ManagedLaneService(
    { BATCH_CONCURRENCY: CONCURRENCY } as BatchWorkerEnv,
    new FakeSegments(segments) as unknown as BatchSegmentsRepository,
    results as unknown as BatchResultsRepository,
    runner,
    {} as FinalizerService,
  );
  lane.start();
}

async function untilOutcomes(count: number): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (outcomes.length < count && performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  expect(outcomes).toHaveLength(count);
}

beforeEach(() => outcomes.splice(0));

afterEach(() => lane.drain());

describe(ManagedLaneService.name, () => {
  it('has every line answered by a provider that takes one at a time and asks for a moment of quiet', async () => {
    let nextAtMs = 0;
    runLane(segmentsOf('narrow', 1n, 4), () => {
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
      runLane(segments, (provider) =>
        provider === 'narrow' ? new AppError('rate_limit_exceeded', 'Too many', options) : null,
      );
      await untilOutcomes(4 * SEGMENT_LINES);
      expect(new Set(outcomes.map(({ lease }) => lease.batchNumber))).toEqual(new Set([2n]));
    },
    30_000,
  );
});
