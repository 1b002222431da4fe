import { Cancellation, type CatalogueSource, type NativeBatchCaller } from '@libs/inference';
import { aCatalogue, aModel, anEndpoint, aProvider } from '@libs/inference/testing';
import type { NativeBatch, NativeBatchesRepository } from '@libs/persistence';
import type { BatchKeys } from '../batches/batch-keys';
import type { FinalizerService } from '../batches/finalizer.service';
import type { ManagedLaneService } from '../batches/managed-lane.service';
import type { NativeCollectionService } from './native-collection.service';
import { NativeRunnerService } from './native-runner.service';
import type { NativeSubmissionService } from './native-submission.service';

const ORDER = {
  reference: 'nb1',
  state: 'uploaded',
  endpoint: '/v1/chat/completions',
  model: 'acme/large',
  provider: 'acme',
  upstreamModel: 'large',
  credentialId: null,
  failures: 0,
  losses: 0,
  isWanted: true,
  isLate: false,
} as unknown as NativeBatch;

/** What is done with an order, in its order. */
async function stepsOf(order: NativeBatch): Promise<readonly string[]> {
  const steps: string[] = [];
  const model = aModel({ endpoints: [anEndpoint({ provider: aProvider({ slug: 'acme' }), upstreamModel: 'large' })] });
  const catalogue = aCatalogue(model);
  const caller = {
    laneOf: () => ({}),
    withSameKey: async (candidate: object) => candidate,
    accessTo: async () => ({}),
  };
  const runner = new NativeRunnerService(
    { current: () => catalogue } as CatalogueSource,
    caller as unknown as NativeBatchCaller,
    { finish: async () => steps.push('finished') > 0 } as unknown as NativeBatchesRepository,
    { submit: async () => void steps.push('submitted') } as unknown as NativeSubmissionService,
    {} as NativeCollectionService,
    { wake: () => steps.push('lane woken') } as unknown as ManagedLaneService,
    { finishIfDone: async () => undefined } as unknown as FinalizerService,
    { principalOf: async () => ({}) } as unknown as BatchKeys,
  );
  await runner.advance(order, new Cancellation());
  return steps;
}

describe(NativeRunnerService.name, () => {
  it('sends an order again that did not arrive, and leaves its lines to single calls the third time', async () => {
    expect(await stepsOf({ ...ORDER, losses: 2 })).toEqual(['submitted', 'lane woken']);
    expect(await stepsOf({ ...ORDER, losses: 3 })).toEqual(['finished', 'lane woken']);
  });
});
