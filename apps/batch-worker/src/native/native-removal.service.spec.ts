import type { CatalogueSource, NativeBatchCaller } from '@libs/inference';
import { aCatalogue, aModel, anEndpoint, aProvider } from '@libs/inference/testing';
import type { BatchRemovalRepository, NativeBatch, NativeBatchesRepository } from '@libs/persistence';
import { NativeRemovalService } from './native-removal.service';

const ORDER = {
  reference: 'nb1',
  state: 'done',
  endpoint: '/v1/chat/completions',
  model: 'acme/large',
  provider: 'acme',
  upstreamModel: 'large',
  credentialId: 'credential',
  upstreamId: 'job-1',
  inputFileId: null,
  outputIds: [],
} as unknown as NativeBatch;

async function reportedWhere(remove: (() => Promise<'deleted' | 'unsupported'>) | null): Promise<readonly string[]> {
  const model = aModel({ endpoints: [anEndpoint({ provider: aProvider({ slug: 'acme' }), upstreamModel: 'large' })] });
  const catalogue = aCatalogue(model);
  const caller = {
    laneOf: () => ({ batches: { remove } }),
    withSameKey: async (candidate: object) => (remove === null ? null : candidate),
    accessTo: async () => ({}),
  };
  const reported: string[] = [];
  const removal = {
    isUpstreamRequested: async () => true,
    reportUpstream: async (_id: string, outcome: string) => reported.push(outcome),
  };
  const service = new NativeRemovalService(
    { current: () => catalogue } as CatalogueSource,
    caller as unknown as NativeBatchCaller,
    removal as unknown as BatchRemovalRepository,
    { ofBatch: async () => [ORDER] } as unknown as NativeBatchesRepository,
  );
  await service.removeIfRequested('batch-1');
  return reported;
}

describe(NativeRemovalService.name, () => {
  it('says what the provider made of it', async () => {
    expect(await reportedWhere(async () => 'deleted')).toEqual(['deleted']);
    expect(await reportedWhere(async () => 'unsupported')).toEqual(['unsupported']);
  });

  it('tells a provider that fails, which may be asked again, from one that cannot be asked as its key is gone', async () => {
    expect(await reportedWhere(() => Promise.reject(new Error('down')))).toEqual(['refused']);
    expect(await reportedWhere(null)).toEqual(['unreachable']);
  });
});
