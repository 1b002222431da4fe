import { Logger } from '@nestjs/common';
import { createProviderAdapters, NativeBatchCaller, SharedCredentials, UpstreamHttp } from '@libs/inference';
import { aModel, anEndpoint, aProvider } from '@libs/inference/testing';
import type { LineOutcome, NativeBatch } from '@libs/persistence';
import { ServicesEnv } from '@libs/platform';
import { NativeCollectionService } from './native-collection.service';
import type { Reach } from './native-reach';

const ORDER = {
  reference: 'nb1',
  batchId: 'batch-1-0000000000000000000a',
  endpoint: '/v1/embeddings',
  model: 'acme/large',
  firstSeq: 0,
  lastSeq: 1,
} as NativeBatch;
const JOB = { id: 'job', state: 'ended', reference: null, outputs: [], failure: null } as const;
const rate = (microUsd: bigint) => ({ prompt: microUsd * 10n ** 12n, completion: 0n });
const endpoint = anEndpoint({
  provider: aProvider({ batch: 'native' }),
  apis: ['embeddings'],
  pricing: rate(2n),
  batchPricing: rate(1n),
});

/** Returns the results of an order whose lines were answered so. */
async function collected(request: object, ...answers: readonly object[]): Promise<readonly LineOutcome[]> {
  const credentials = new SharedCredentials({ ACME_API_KEY: 'shared' });
  const adapters = createProviderAdapters(new UpstreamHttp());
  const lane = new NativeBatchCaller({ adapters, credentials, clock: Date.now }).laneOf('embeddings', endpoint)!;
  async function* download() {
    for (const [seq, answer] of answers.entries()) {
      yield { customId: `nb1-${seq}`, kind: 'answer', body: Buffer.from(JSON.stringify(answer)) } as const;
    }
  }
  const reach = {
    candidate: { model: aModel({ endpoints: [endpoint] }), endpoint, credential: null },
    lane: { ...lane, batches: { download } },
  } as unknown as Reach;
  const body = Buffer.from(JSON.stringify(request));
  const stored: LineOutcome[] = [];
  const service = new NativeCollectionService(
    { wrote: async () => undefined } as never,
    {
      held: async () => [{ batchNumber: 1n, number: 0, fence: 1n, firstSeq: 0, lastSeq: 1 }],
      lines: async (_order: NativeBatch, seqs: readonly number[]) =>
        new Map(seqs.map((seq) => [seq, { customId: `line-${seq}`, body }])),
    } as never,
    {
      store: async (outcomes: readonly LineOutcome[]) => {
        stored.push(...outcomes);
        return { stored: outcomes.length, batchesWithDoneSegments: [], batchesAheadOfHold: [] };
      },
    } as never,
    new ServicesEnv(),
  );
  await service.collect(ORDER, JOB, reach);
  return stored;
}

const embedded = (...vector: readonly number[]): object => ({
  object: 'list',
  data: [{ object: 'embedding', index: 0, embedding: vector }],
  usage: { prompt_tokens: 8, total_tokens: 8 },
});

describe(NativeCollectionService.name, () => {
  beforeAll(() => Logger.overrideLogger(false));

  it('charges a line for vectors that the provider made in another length, like a single call', async () => {
    const [refused, answered] = await collected({ input: 'a', dimensions: 3 }, embedded(1, 2), embedded(1, 2, 3));
    expect(answered).toMatchObject({ error: null, promptTokens: 8, costUsd: '0.000008' });
    expect(refused).toMatchObject({
      body: null,
      error: { type: 'invalid_request_error', param: 'dimensions' },
      promptTokens: 8,
      promptCostUsd: '0.000008',
      costUsd: '0.000008',
    });
  });

  it('names the fields that the provider of an order was not sent', async () => {
    const [plain] = await collected({ input: 'a' }, embedded(1, 2));
    expect(JSON.parse(String(plain?.body))).not.toHaveProperty('sluice_metadata');
    const [reported] = await collected({ input: 'a', debug: { timings: true } }, embedded(1, 2));
    expect(JSON.parse(String(reported?.body))).toMatchObject({
      object: 'list',
      sluice_metadata: {
        attempt: 1,
        requested: 'acme/large',
        translation: { from: 'embeddings', to: 'embeddings', dropped: ['debug'], approximated: [] },
      },
    });
  });

  it('charges nothing for a line that its provider refused', async () => {
    const [refused] = await collected({ input: 'a' }, { error: { message: 'No', type: 'invalid_request_error' } });
    expect(refused).toMatchObject({ error: { type: 'invalid_request_error' }, costUsd: '0' });
  });
});
