import type { Principal } from '@libs/contracts';
import { AppError } from '@libs/errors';
import {
  Cancellation,
  type Candidate,
  type CatalogueSource,
  type NativeBatchCaller,
  type RoutePolicy,
} from '@libs/inference';
import { aCatalogue, aModel, anEndpoint, aProvider } from '@libs/inference/testing';
import type { NativeBatch, NativeBatchesRepository } from '@libs/persistence';
import type { BatchKeys } from '../batches/batch-keys';
import type { FinalizerService } from '../batches/finalizer.service';
import type { ManagedLaneService } from '../batches/managed-lane.service';
import type { NativeCollectionService } from './native-collection.service';
import type { NativeFundsService, OrderCover } from './native-funds.service';
import type { Reach } from './native-reach';
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

/** Sends every order whose lines ask for no web search, unless nothing of it is left. */
function submissionTo(steps: string[]): NativeSubmissionService {
  const submission = {
    submit: async ({ reference }: NativeBatch) => reference !== 'nothing-left' && steps.push('submitted') > 0,
    checkLines: async (_order: NativeBatch, _at: Reach, policies: readonly RoutePolicy[]) => {
      if (policies.some(({ ignoredTools }) => ignoredTools?.includes('web_search'))) {
        throw new AppError('permission_denied', 'The tool web_search is not allowed by the workspace');
      }
    },
  };
  return submission as unknown as NativeSubmissionService;
}

/** What is done with an order, in its order. */
async function stepsOf(
  order: NativeBatch,
  job: object | AppError = {},
  hasOthers = true,
  answers = 0,
  principalOf: BatchKeys['principalOf'] = async () => ({}) as Principal,
  cover: OrderCover = 'covered',
): Promise<readonly string[]> {
  const steps: string[] = [];
  const poll = async (): Promise<object> => {
    if (job instanceof AppError) throw job;
    return { id: 'job', state: 'ended', failure: null, ...job };
  };
  const provider = aProvider({ slug: 'acme' });
  const model = aModel({ endpoints: [anEndpoint({ provider, upstreamModel: 'large', zdr: true })] });
  const catalogue = aCatalogue(model);
  const caller = {
    laneOf: () => ({ batches: { poll, remove: async () => (steps.push('file removed'), 'deleted') } }),
    noteAnswer: () => undefined,
    noteFailure: () => undefined,
    withKey: async (candidate: object) => candidate,
    withSameKey: async (candidate: object) => candidate,
    accessTo: async ({ endpoint }: Candidate) => ({ endpoint, timeouts: {} }),
  };
  const runner = new NativeRunnerService(
    { current: () => catalogue } as CatalogueSource,
    caller as unknown as NativeBatchCaller,
    {
      finish: async () => steps.push('finished') > 0,
      postpone: async () => hasOthers && steps.push('postponed') > 0,
      rest: async () => steps.push('rests') > 0,
      wait: async () => steps.push('waits') > 0,
      abandon: async () => steps.push('abandoned') > 0,
    } as unknown as NativeBatchesRepository,
    submissionTo(steps),
    {
      collect: async () => {
        steps.push('collected');
        return { stored: 0, own: 0, foreign: 0, answers };
      },
    } as unknown as NativeCollectionService,
    { wake: () => steps.push('lane woken') } as unknown as ManagedLaneService,
    { finishIfDone: async () => undefined } as unknown as FinalizerService,
    { principalOf } as unknown as BatchKeys,
    {
      cover: async () => cover,
      release: async () => undefined,
    } as unknown as NativeFundsService,
  );
  await runner.advance(order, new Cancellation());
  return steps;
}

describe(NativeRunnerService.name, () => {
  it.each([
    ['covered', ['submitted', 'lane woken']],
    ['waits', []],
    ['unpaid', ['finished', 'lane woken']],
  ] as const)('submits an order only when its cost is reserved: %s', async (cover, steps) => {
    expect(await stepsOf(ORDER, {}, true, 0, undefined, cover)).toEqual(steps);
  });

  it.each([{ zdr: true }, { data_collection: 'deny' }] as const)(
    'gives a provider no order under a policy that was set after the batch was taken in: %j',
    async (policy) => {
      const principalOf = async () => ({ policies: [{ owner: 'workspace', policy }] }) as unknown as Principal;
      const under = (order: Partial<NativeBatch>) => stepsOf({ ...ORDER, ...order }, {}, true, 0, principalOf);
      expect(await under({ state: 'planned', inputFileId: null })).toEqual(['finished', 'lane woken']);
      expect(await under({ inputFileId: 'file' })).toEqual(['file removed', 'finished', 'lane woken']);
      expect(await under({ state: 'running', upstreamId: 'job' })).toEqual(['collected', 'finished', 'lane woken']);
    },
  );

  it('removes the file of an order in which a line asks for a tool that was forbidden after the upload', async () => {
    const policy = { ignored_tools: ['web_search'] };
    const principalOf = async () => ({ policies: [{ owner: 'workspace', policy }] }) as unknown as Principal;
    const under = (order: Partial<NativeBatch>) => stepsOf({ ...ORDER, ...order }, {}, true, 0, principalOf);
    expect(await under({ inputFileId: 'file' })).toEqual(['file removed', 'finished', 'lane woken']);
    // What is not uploaded yet is checked line by line.
    expect(await under({ state: 'planned', inputFileId: null })).toEqual(['submitted', 'lane woken']);
  });

  it('ends an order when none of its lines is left to send', async () => {
    expect(await stepsOf({ ...ORDER, reference: 'nothing-left' })).toEqual(['finished', 'lane woken']);
  });

  it('sends an order again that did not arrive, and leaves its lines to single calls the third time', async () => {
    expect(await stepsOf({ ...ORDER, losses: 2 })).toEqual(['submitted', 'lane woken']);
    expect(await stepsOf({ ...ORDER, losses: 3 })).toEqual(['finished', 'lane woken']);
  });

  it('has an order wait for which others leave no room, unless there are none or its time is over', async () => {
    const running = { ...ORDER, state: 'running', upstreamId: 'job' } as NativeBatch;
    const full = { failure: 'token_limit_exceeded', isTooMuchNow: true };
    const toSingleCalls = ['collected', 'finished', 'lane woken'];
    expect(await stepsOf(running, full)).toEqual(['postponed']);
    expect(await stepsOf(running, full, false)).toEqual(toSingleCalls);
    expect(await stepsOf({ ...running, isLate: true, isCancelled: true }, full)).toEqual(toSingleCalls);
    expect(await stepsOf(running, { failure: 'invalid_json_line', isTooMuchNow: false })).toEqual(toSingleCalls);
  });

  it('reads outputs again that hold fewer answers than the provider counts, and takes them as they are in the end', async () => {
    const running = { ...ORDER, state: 'running', upstreamId: 'job' } as NativeBatch;
    const read = (answers: number, values: Partial<NativeBatch> = {}): Promise<readonly string[]> =>
      stepsOf({ ...running, ...values }, { answers: 3 }, true, answers);
    expect(await read(3)).toEqual(['collected', 'finished', 'lane woken']);
    expect(await read(2)).toEqual(['collected', 'rests']);
    expect(await read(2, { failures: 11 })).toEqual(['collected', 'rests']);
    expect(await read(2, { failures: 12 })).toEqual(['collected', 'finished', 'lane woken']);
    expect(await stepsOf(running, {}, true, 2)).toEqual(['collected', 'finished', 'lane woken']);
  });

  it('keeps an order while the app that knows its key is away, however long, and leaves it when a provider is', async () => {
    const away = new AppError('unavailable', 'The service is temporarily unavailable');
    const without = (failures: number): Promise<readonly string[]> =>
      stepsOf({ ...ORDER, failures }, {}, true, 0, () => Promise.reject(away));
    expect([await without(0), await without(100)]).toEqual([['waits'], ['waits']]);
    const silent = (failures: number): Promise<readonly string[]> =>
      stepsOf({ ...ORDER, failures }, {}, true, 0, () =>
        Promise.reject(new AppError('provider_unavailable', 'The provider is not available')),
      );
    expect([await silent(0), await silent(4)]).toEqual([['rests'], ['abandoned', 'finished', 'lane woken']]);
  });

  it('asks a silent provider longer for what nobody waits for than for what may still be called', async () => {
    const silence = new AppError('provider_unavailable', 'The provider is not available');
    const asked = { ...ORDER, state: 'running', upstreamId: 'job', isCancelled: true } as NativeBatch;
    const after = (failures: number, values: Partial<NativeBatch>): Promise<readonly string[]> =>
      stepsOf({ ...asked, failures: failures - 1, ...values }, silence);
    const givenUp = ['finished', 'lane woken'];
    expect(await after(7, { isLate: true })).toEqual(['rests']);
    expect(await after(8, { isLate: true })).toEqual(givenUp);
    expect(await after(15, { isWanted: false })).toEqual(['rests']);
    expect(await after(16, { isWanted: false })).toEqual(givenUp);
    expect(await after(2, { isWanted: false, isStuck: true })).toEqual(givenUp);
    expect(await after(100, {})).toEqual(['rests']);
  });
});
