import { Secret, type Principal } from '@libs/contracts';
import { CallerCredentials, SharedCredentials, type CatalogueSource, type OwnCredential } from '@libs/inference';
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
import { BatchKeys } from './batch-keys';
import { HeldSegment, type HeldLine } from './held-segment';
import { LineRunnerService } from './line-runner.service';

const ANSWER = {
  id: 'up-1',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
};
const MESSAGES = [{ role: 'user', content: 'Hello!' }];

const OWN = anOwnCredential({ isByokOnly: true, allowedApiKeyHashes: ['hash'] });

const OWNER = { organizationId: 'organization', workspaceId: 'workspace' };

let own: readonly OwnCredential[];
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
  const vault = {
    credentialsOf: () => own,
    open: async () => new Secret('sk-own-0123456789'),
    noteVerdict: () => undefined,
  };
  const credentials = new CallerCredentials(new SharedCredentials({}), vault);
  const { engine, http } = anEngine([model], { credentials });
  closeEngine = () => http.close();
  const catalogue = aCatalogue(model);
  principal = { ...OWNER, keyHash: 'hash' } as unknown as Principal;
  const keys = new BatchKeys({ find: async () => answerOf(principal) });
  runner = new LineRunnerService(engine, { current: () => catalogue } as CatalogueSource, keys);
});

afterEach(async () => {
  await upstream.close();
  await closeEngine();
});

function aLine(endpoint: string, body: object, tries = 1, isOwnKey = false): HeldLine {
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
    quota: isOwnKey ? 'acme:own' : 'acme',
    isOwnKey,
    ...OWNER,
    apiKeyHash: 'hash',
    expiresAtMs: 0,
  };
  const segment = new HeldSegment(claim, [{ seq: 0, customId: 'c0', body: Buffer.from(JSON.stringify(body)) }]);
  return { ...segment.next()!, tries };
}

const run = (line: HeldLine) => runner.run(line, new AbortController().signal);

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

  it('keeps a line waiting, and counts no try, while nobody can say whether its key is good', async () => {
    principal = new Error('nobody answers');
    const line = aLine('/v1/chat/completions', { messages: MESSAGES }, 8);
    expect(await run(line)).toEqual({ kind: 'retry', delayMs: 1_000, pausesQuota: false, isCongestion: false });
    expect(line.tries).toBe(7);
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

  it('tries a line again after what may pass, until it has been tried often enough', async () => {
    upstream.answers(503, '');
    const line = { messages: MESSAGES };
    expect(await run(aLine('/v1/chat/completions', line))).toMatchObject({ kind: 'retry', pausesQuota: false });
    expect(await run(aLine('/v1/chat/completions', line, 8))).toMatchObject({
      outcome: { statusCode: null, costUsd: '0', error: { type: 'server_error', error_type: 'provider_overloaded' } },
    });
  });

  it('waits longer than that for a provider that gets too many calls, but not for ever, with whosever key', async () => {
    upstream.answers(429, '', { 'retry-after': '1' });
    const line = aLine('/v1/chat/completions', { messages: MESSAGES }, 100);
    const minutesAgo = (minutes: number): number => performance.now() - minutes * 60_000;
    expect(await run({ ...line, firstTryMs: minutesAgo(29) })).toMatchObject({ kind: 'retry', pausesQuota: true });
    const givenUp = { outcome: { error: { error_type: 'rate_limit_exceeded' } } };
    expect(await run({ ...line, firstTryMs: minutesAgo(31) })).toMatchObject(givenUp);
    own = [OWN];
    const ownLine = aLine('/v1/chat/completions', { messages: MESSAGES }, 100, true);
    expect(await run({ ...ownLine, firstTryMs: minutesAgo(29) })).toMatchObject({ kind: 'retry', pausesQuota: true });
    expect(await run({ ...ownLine, firstTryMs: minutesAgo(31) })).toMatchObject(givenUp);
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
    expect(await run(line)).toEqual({ kind: 'retry', delayMs: 7_000, pausesQuota: true, isCongestion: false });
    // A key that was added after the batch was accepted.
    own = [OWN];
    expect(await run(line)).toEqual({ kind: 'retry', delayMs: 7_000, pausesQuota: false, isCongestion: false });
    const ownLine = aLine('/v1/chat/completions', { messages: MESSAGES }, 1, true);
    expect(await run(ownLine)).toEqual({ kind: 'retry', delayMs: 7_000, pausesQuota: true, isCongestion: false });
  });

  it('tries a line again whose caller’s own key is refused, as it may be mended in time', async () => {
    upstream.answers(401, '');
    own = [OWN];
    const line = aLine('/v1/chat/completions', { messages: MESSAGES });
    expect(await run(line)).toMatchObject({ kind: 'retry', pausesQuota: false, isCongestion: false });
    const last = await run({ ...line, tries: 8 });
    expect(last).toMatchObject({ kind: 'outcome', outcome: { error: { error_type: 'authentication' } } });
  });

  it('calls nobody where the caller forbids shared capacity and has no other key for this', async () => {
    own = [{ ...OWN, allowedModels: ['acme/small'] }];
    expect(await run(aLine('/v1/chat/completions', { messages: MESSAGES }))).toMatchObject({ kind: 'retry' });
    expect(upstream.requests).toEqual([]);
  });

  it('answers a line that can never succeed with its error', async () => {
    upstream.answers(400, '');
    expect(await run(aLine('/v1/responses', { input: 'Hello!' }))).toMatchObject({
      outcome: { error: { type: 'invalid_request_error' } },
    });
  });
});
