import { Cancellation, type Candidate, type NativeBatchCaller } from '@libs/inference';
import { aCatalogue, aModel, anEndpoint, aProvider } from '@libs/inference/testing';
import type { NativeBatch } from '@libs/persistence';
import { reach, type Reach } from './native-reach';

const ORDER = {
  reference: 'nb1',
  state: 'running',
  endpoint: '/v1/chat/completions',
  model: 'acme/large',
  provider: 'acme',
  upstreamModel: 'large',
} as NativeBatch;

const reachOf = async (timeouts: object): Promise<Reach> => {
  const model = aModel({ endpoints: [anEndpoint({ provider: aProvider({ slug: 'acme' }), upstreamModel: 'large' })] });
  const caller = {
    laneOf: () => ({}),
    withSameKey: async (candidate: object) => candidate,
    accessTo: async ({ endpoint }: Candidate) => ({ endpoint, timeouts }),
  };
  return reach(ORDER, aCatalogue(model), caller as unknown as NativeBatchCaller, new Cancellation());
};

describe(reach.name, () => {
  const OF_CALLS = { headersMs: 300_000, idleMs: 60_000, totalMs: 1_800_000 };

  it('waits a minute at most for the answer to a question, and as long as calls do for one to lines', async () => {
    const { access, sending, reading } = await reachOf(OF_CALLS);
    expect(access.timeouts).toEqual({ headersMs: 30_000, idleMs: 30_000, totalMs: 60_000 });
    expect(sending.timeouts).toEqual(OF_CALLS);
    expect(reading.timeouts).toEqual({ ...OF_CALLS, headersMs: 60_000 });
  });

  it('never waits longer than calls do', async () => {
    const short = { headersMs: 1_000, idleMs: 2_000, totalMs: 3_000 };
    const { access, reading } = await reachOf(short);
    expect([access.timeouts, reading.timeouts]).toEqual([short, short]);
  });
});
