import { Secret, type Principal } from '@libs/contracts';
import {
  CallerCredentials,
  Cancellation,
  SharedCredentials,
  type CatalogueSource,
  type OwnCredential,
} from '@libs/inference';
import {
  aCatalogue,
  aModel,
  anEndpoint,
  anEngine,
  anOwnCredential,
  aProvider,
  FakeUpstream,
} from '@libs/inference/testing';
import type { ClaimedSegment } from '@libs/persistence';
import { ServicesEnv } from '@libs/platform';
import { BatchKeys } from './batch-keys';
import { HeldSegment, type HeldLine } from './held-segment';
import type { LineFailure } from './line-patience';
import { isKept, LineRunnerService } from './line-runner.service';

const ANSWER = {
  id: 'up-1',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
};
const MESSAGES = [{ role: 'user', content: 'Hello!' }];

const OWN = anOwnCredential({ isByokOnly: true, allowedApiKeyHashes: ['hash'] });

const OWNER = { organizationId: 'organization', workspaceId: 'workspace' };

let own: readonly OwnCredential[];
let vaultFails: boolean;
let upstream: FakeUpstream;
let closeEngine: () => Promise<void>;
let runner: LineRunnerService;
let principal: Principal | null | Error;

function answerOf(answer: Principal | null | Error): Principal | null {
  if (answer instanceof Error) throw answer;
  return answer;
}

beforeEach(async () => {
  upstream = await FakeUpstream.start();
  const provider = aProvider({ baseUrl: upstream.baseUrl, apiKeyEnv: null });
  const model = aModel({ endpoints: [anEndpoint({ provider, apis: ['chat'] })] });
  own = [];
  vaultFails = false;
  const vault = {
    credentialsOf: () => {
      if (vaultFails) throw new Error('the credentials app is away');
      return own;
    },
    open: async () => new Secret('sk-own-0123456789'),
    noteVerdict: () => undefined,
  };
  const credentials = new CallerCredentials(new SharedCredentials({}), vault);
  const { engine, http } = anEngine([model], { credentials });
  closeEngine = () => http.close();
  const catalogue = aCatalogue(model);
  principal = { ...OWNER, keyHash: 'hash' } as unknown as Principal;
  const keys = new BatchKeys({ findRecord: async () => answerOf(principal) });
  runner = new LineRunnerService(engine, { current: () => catalogue } as CatalogueSource, keys, new ServicesEnv());
});

afterEach(async () => {
  await upstream.close();
  await closeEngine();
});

function aLine(endpoint: string, body: object, isOwnKey = false, isOwnKeysOnly = false): HeldLine {
  const claim: ClaimedSegment = {
    batchNumber: 1n,
    number: 0,
    fence: 1n,
    createdOn: '2026-11-21',
    firstSeq: 0,
    lastSeq: 0,
    attempts: 1,
    batchId: 'batch-1763715600-0123456789ABCDEFGHIJ',
    endpoint,
    model: 'acme/large',
    provider: 'acme',
    upstreamModel: 'acme-large-2026',
    account: isOwnKey ? 'acme:own' : 'acme',
    isOwnKey,
    isOwnKeysOnly,
    ...OWNER,
    apiKeyHash: 'hash',
    expiresAtMs: 0,
    windowEndsAtMs: 0,
  };
  const segment = new HeldSegment(
    claim,
    [{ seq: 0, customId: 'c0', body: Buffer.from(JSON.stringify(body)) }],
    'acme model',
  );
  return segment.next()!;
}

const run = (line: HeldLine) => runner.run(line, new AbortController().signal);

async function failureOf(line: HeldLine): Promise<LineFailure> {
  const result = await run(line);
  if (result.kind !== 'failure') throw new Error('the line came to its end');
  return result.failure;
}

describe(LineRunnerService.name, () => {
  it('makes no call for a line whose key was revoked', async () => {
    principal = null;
    const result = await run(aLine('/v1/chat/completions', { messages: MESSAGES }));
    expect(result).toMatchObject({
      kind: 'outcome',
      outcome: {
        statusCode: null,
        costUsd: '0',
        error: { type: 'invalid_request_error', error_type: 'authentication' },
      },
    });
    expect(upstream.requests).toHaveLength(0);
  });

  it('makes no call that a policy forbids by now, and says which', async () => {
    principal = { ...OWNER, policies: [{ owner: 'workspace', policy: { zdr: true } }] } as unknown as Principal;
    const result = await run(aLine('/v1/chat/completions', { messages: MESSAGES }));
    if (result.kind !== 'outcome') throw new Error('the line is to be tried again');
    expect(result.outcome.error).toMatchObject({ error_type: 'permission_denied' });
    expect(result.outcome.error?.message).toContain('policy of the workspace (zdr)');
    expect(upstream.requests).toHaveLength(0);
  });

  it('waits where the own key was deleted that alone its batch was priced for, and goes on with another', async () => {
    const line = aLine('/v1/chat/completions', { messages: MESSAGES }, true, true);
    expect(await failureOf(line)).toMatchObject({ caller: 'failed', quota: 'none', mayBeLines: false });
    expect(upstream.requests).toHaveLength(0);
    own = [OWN];
    upstream.answers(200, JSON.stringify(ANSWER));
    expect(await run(line)).toMatchObject({ kind: 'outcome', outcome: { error: null } });
    expect(upstream.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer sk-own-0123456789']);
  });

  it('blames the caller’s key alone, and no line, while its owner cannot be looked up', async () => {
    principal = new Error('nobody answers');
    expect(await failureOf(aLine('/v1/chat/completions', { messages: MESSAGES }))).toMatchObject({
      quota: 'none',
      caller: 'failed',
      mayBeLines: false,
    });
    expect(upstream.requests).toHaveLength(0);
  });

  it.each([
    ['/v1/chat/completions', { messages: MESSAGES }, { choices: [{ finish_reason: 'stop' }] }],
    ['/v1/responses', { input: 'Hello!' }, { object: 'response', status: 'completed' }],
    ['/v1/messages', { messages: MESSAGES, max_tokens: 5 }, { type: 'message', stop_reason: 'end_turn' }],
  ])('answers a line of %s in its own API, at batch prices', async (endpoint, body, expected) => {
    upstream.answers(200, JSON.stringify(ANSWER));
    const result = await run(aLine(endpoint, body));
    if (result.kind !== 'outcome') throw new Error('the line is to be tried again');
    expect(result.outcome).toMatchObject({ customId: 'c0', statusCode: 200, error: null, costUsd: '0.00001' });
    expect(JSON.parse(String(result.outcome.body))).toMatchObject({
      ...expected,
      id: expect.any(String),
      model: 'acme/large',
    });
    expect(upstream.requests).toMatchObject([{ path: '/v1/chat/completions' }]);
  });

  it.each([
    [500, '', { isAnswer: true, mayBeLines: true, window: 'other' }],
    [502, '', { isAnswer: false, mayBeLines: true, window: 'other' }],
    [503, '', { isAnswer: false, mayBeLines: false, window: 'other' }],
    [504, '', { isAnswer: false, mayBeLines: true, window: 'congested' }],
    [429, '', { isAnswer: false, mayBeLines: false, window: 'congested' }],
    [429, '{"error":{"code":"insufficient_quota"}}', { mayBeLines: false, window: 'other' }],
    [400, '{"error":{"code":"billing_hard_limit_reached"}}', { mayBeLines: false }],
    [401, '', { mayBeLines: false }],
    [402, '', { mayBeLines: false }],
    [403, '', { mayBeLines: false }],
    [404, '', { mayBeLines: false }],
  ])('takes status %i (%s) as a failure of the quota that may pass', async (status, body, expected) => {
    upstream.answers(status, body);
    const failure = await failureOf(aLine('/v1/chat/completions', { messages: MESSAGES }));
    expect(failure).toMatchObject({ quota: 'failed', caller: 'none', pauseMs: null, ...expected });
  });

  it('takes a connection that cannot be made as a failure of the quota', async () => {
    await upstream.close();
    const failure = await failureOf(aLine('/v1/chat/completions', { messages: MESSAGES }));
    expect(failure).toMatchObject({ quota: 'failed', isAnswer: false, mayBeLines: true });
  });

  it('takes an endpoint that the catalogue does not name as a failure of the quota, and of no line', async () => {
    const line = aLine('/v1/chat/completions', { messages: MESSAGES });
    Object.assign(line.segment.claim, { upstreamModel: 'gone' });
    expect(await failureOf(line)).toMatchObject({ quota: 'failed', caller: 'none', mayBeLines: false });
  });

  it('takes credentials that cannot be read as a failure of the caller’s key, and of no line', async () => {
    vaultFails = true;
    expect(await failureOf(aLine('/v1/chat/completions', { messages: MESSAGES }))).toMatchObject({
      quota: 'none',
      caller: 'failed',
      mayBeLines: false,
    });
  });

  it('charges a line that is called off at its provider as a call whose caller has left', async () => {
    const line = aLine('/v1/chat/completions', { messages: MESSAGES });
    const calls = new Cancellation();
    upstream.behaviour = () => calls.leave({ begin: () => null });
    const result = await runner.run(line, calls);
    if (result.kind !== 'outcome') throw new Error('the line is to be tried again');
    expect(isKept(result)).toBe(true);
    expect(result.outcome).toMatchObject({ body: null, error: { type: 'batch_cancelled' }, completionTokens: 0 });
    expect(result.outcome.promptTokens).toBeGreaterThan(0);
    expect(result.outcome.costUsd).toBe(result.outcome.promptCostUsd);
  });

  it('charges the thoughts that a line may have had when it was called off', async () => {
    const line = aLine('/v1/chat/completions', { messages: MESSAGES, max_tokens: 700, reasoning_effort: 'high' });
    const calls = new Cancellation();
    upstream.behaviour = () => calls.leave({ begin: () => null });
    expect(await runner.run(line, calls)).toMatchObject({ outcome: { completionTokens: 700 } });
  });

  it('charges nothing for a line whose call this service ends', async () => {
    const calls = new Cancellation();
    upstream.behaviour = () => calls.abort();
    const result = await runner.run(aLine('/v1/chat/completions', { messages: MESSAGES }), calls);
    expect(isKept(result)).toBe(false);
  });

  it('uses the key of the caller, whose owner pays the provider', async () => {
    own = [OWN];
    upstream.answers(200, JSON.stringify(ANSWER));
    const result = await run(aLine('/v1/chat/completions', { messages: MESSAGES }));
    expect(result).toMatchObject({
      outcome: { costUsd: '0.0000005', promptCostUsd: '0.000005', completionCostUsd: '0.000005' },
    });
    expect(upstream.requests).toMatchObject([{ headers: { authorization: 'Bearer sk-own-0123456789' } }]);
  });

  it('pauses the quota of the key that was refused, and no other', async () => {
    upstream.answers(429, '', { 'retry-after': '7' });
    const line = aLine('/v1/chat/completions', { messages: MESSAGES });
    // A pause answers it; fewer calls at once as well would make each refusal cost a pause of its own.
    const pauses = { quota: 'failed', caller: 'none', pauseMs: 7_000, window: 'other' };
    expect(await failureOf(line)).toMatchObject(pauses);
    // A key that was added after the batch was accepted.
    own = [OWN];
    expect(await failureOf(line)).toMatchObject({ quota: 'none', caller: 'failed', pauseMs: null });
    expect(await failureOf(aLine('/v1/chat/completions', { messages: MESSAGES }, true))).toMatchObject(pauses);
  });

  it('asks a provider again after ten minutes that wants more quiet than that', async () => {
    upstream.answers(429, '', { 'retry-after': '86400' });
    const failure = await failureOf(aLine('/v1/chat/completions', { messages: MESSAGES }));
    expect(failure.pauseMs).toBe(600_000);
  });

  it.each([
    [401, '', 'authentication'],
    [402, '', 'payment_required'],
    [403, '{"error":{"code":"unsupported_country_region_territory"}}', 'permission_denied'],
  ])('tries a line again whose caller’s own key or account is refused with %d', async (status, body, code) => {
    upstream.answers(status, body);
    own = [OWN];
    const failure = await failureOf(aLine('/v1/chat/completions', { messages: MESSAGES }, true));
    expect(failure).toMatchObject({ quota: 'failed', mayBeLines: false, error: { code } });
  });

  it('calls nothing where the caller forbids shared capacity and has no other key for this', async () => {
    own = [{ ...OWN, allowedModels: ['acme/small'] }];
    const failure = await failureOf(aLine('/v1/chat/completions', { messages: MESSAGES }));
    expect(failure).toMatchObject({ quota: 'none', caller: 'failed', mayBeLines: false });
    expect(upstream.requests).toEqual([]);
  });

  it('answers a line that can never succeed with its error', async () => {
    upstream.answers(400, '');
    expect(await run(aLine('/v1/responses', { input: 'Hello!' }))).toMatchObject({
      outcome: { error: { type: 'invalid_request_error' } },
      // Its provider was there to say so.
      news: { quota: 'worked' },
    });
  });
});
