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
  submittedAt: new Date(0),
  losses: 0,
  unansweredUploads: 0,
  outputIds: [],
} as unknown as NativeBatch;

type Removal = ((job: { readonly outputs: readonly string[] }) => Promise<'deleted' | 'unsupported'>) | null;

/** The job as its provider reports it. */
let job: { poll: () => Promise<object | null>; cancel: () => Promise<void> };

async function reportedWhere(remove: Removal, ...orders: NativeBatch[]): Promise<readonly (string | null)[]> {
  const model = aModel({ endpoints: [anEndpoint({ provider: aProvider({ slug: 'acme' }), upstreamModel: 'large' })] });
  const catalogue = aCatalogue(model);
  const caller = {
    laneOf: () => ({ batches: { remove, ...job } }),
    withSameKey: async (candidate: object) => (remove === null ? null : candidate),
    accessTo: async () => ({ timeouts: {} }),
  };
  const reported: (string | null)[] = [];
  const removal = {
    isUpstreamRequested: async () => true,
    reportUpstream: async (_id: string, outcome: string | null) => reported.push(outcome),
  };
  const service = new NativeRemovalService(
    { current: () => catalogue } as CatalogueSource,
    caller as unknown as NativeBatchCaller,
    removal as unknown as BatchRemovalRepository,
    { ofBatch: async () => (orders.length > 0 ? orders : [ORDER]) } as unknown as NativeBatchesRepository,
  );
  await service.removeIfRequested('batch-1');
  return reported;
}

describe(NativeRemovalService.name, () => {
  beforeEach(() => {
    job = { poll: async () => ({ state: 'ended', outputs: [] }), cancel: async () => undefined };
  });

  it('has files removed that a job wrote after it was given up', async () => {
    const removed: string[][] = [];
    const remove: Removal = async ({ outputs }) => {
      removed.push([...outputs]);
      return 'deleted';
    };
    job.poll = async () => ({ state: 'ended', outputs: ['file-out'] });
    expect(await reportedWhere(remove)).toEqual(['deleted']);
    job.poll = async () => null;
    expect(await reportedWhere(remove)).toEqual(['deleted']);
    expect(await reportedWhere(remove, { ...ORDER, outputIds: ['file-known'] })).toEqual(['deleted']);
    expect(removed).toEqual([['file-out'], [], ['file-known']]);
  });

  it('calls a job off that is not over at its provider, and does not say that it is deleted', async () => {
    let calledOff = 0;
    job = {
      poll: async () => ({ state: 'running', outputs: [] }),
      cancel: async () => void (calledOff += 1),
    };
    expect(await reportedWhere(async () => 'deleted')).toEqual(['refused']);
    expect(calledOff).toBe(1);
  });

  it('says what the provider made of it', async () => {
    expect(await reportedWhere(async () => 'deleted')).toEqual(['deleted']);
    expect(await reportedWhere(async () => 'unsupported')).toEqual(['unsupported']);
  });

  it('tells a provider that fails, which may be asked again, from one that cannot be asked as its key is gone', async () => {
    expect(await reportedWhere(() => Promise.reject(new Error('down')))).toEqual(['refused']);
    expect(await reportedWhere(null)).toEqual(['unreachable']);
  });

  it('reports nothing of orders that were refused before anything of them was at the provider', async () => {
    const refused = { ...ORDER, upstreamId: null, submittedAt: null };
    expect(await reportedWhere(() => Promise.reject(new Error('not to be asked')), refused)).toEqual([null]);
    expect(await reportedWhere(async () => 'deleted', refused, ORDER)).toEqual(['deleted']);
  });

  it('does not claim that an order is deleted that may have been accepted', async () => {
    const lost = { ...ORDER, upstreamId: null };
    expect(await reportedWhere(async () => 'deleted', lost)).toEqual(['unsupported']);
    expect(await reportedWhere(async () => 'deleted', { ...lost, inputFileId: 'file-1' })).toEqual(['unsupported']);
  });

  it('does not claim that an order is deleted that was sent and not found again', async () => {
    const lost = { ...ORDER, upstreamId: null, submittedAt: null, losses: 1 };
    expect(await reportedWhere(async () => 'deleted', lost)).toEqual(['unsupported']);
    expect(await reportedWhere(async () => 'deleted', { ...ORDER, losses: 1 })).toEqual(['unsupported']);
  });

  it('does not claim that a file is deleted that may have arrived when its answer was lost', async () => {
    const lost = { ...ORDER, upstreamId: null, submittedAt: null, unansweredUploads: 1 };
    expect(await reportedWhere(async () => 'deleted', lost)).toEqual(['unsupported']);
    expect(await reportedWhere(async () => 'deleted', { ...ORDER, unansweredUploads: 1 })).toEqual(['unsupported']);
  });
});
