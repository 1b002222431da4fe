import { Secret } from '@libs/contracts';
import { NativeBatchCaller } from './native-batch-caller';
import { createProviderAdapters } from '../providers';
import { upstreamError } from '../wire/upstream-error';
import { UpstreamHttp } from '../wire/upstream-http';
import type { Api } from '../catalogue/catalogue';
import { CallerCredentials } from '../routing/caller-credentials';
import { SharedCredentials, type OwnCredential } from '../routing/credential-source';
import { SHARED_ACCOUNT, type ProviderAccount } from '../model/provider-account';
import { aModel, anEndpoint, anOwnCredential, aProvider } from '../testing';

const KEY = new Secret('sk-own-0123456789abcdef');
const SCOPE = { organizationId: 'organization', workspaceId: 'workspace', apiKeyHash: 'hash' };
const own = anOwnCredential();
const provider = aProvider();
const endpoint = anEndpoint({ provider });
const plain = { model: aModel({ endpoints: [endpoint] }), endpoint };

const ASKS_FOR_OWN_KEY = [
  [{ tools: [{ type: 'image_generation' }] }, 'tools[0]'],
  [{ tools: [{ type: 'image_generation', quality: 'high' }] }, 'tools[0].quality'],
  [{ prompt: { id: 'pmpt_1' } }, 'prompt.id'],
] as const;

describe(NativeBatchCaller.name, () => {
  let credential: OwnCredential;
  let told: unknown[];
  let caller: NativeBatchCaller;

  beforeEach(() => {
    credential = own;
    told = [];
    const vault = {
      credentialsOf: () => [credential],
      open: async () => KEY,
      noteVerdict: (...verdict: unknown[]) => void told.push(verdict),
    };
    const credentials = new CallerCredentials(new SharedCredentials({ ACME_API_KEY: 'shared' }), vault);
    caller = new NativeBatchCaller({ adapters: new Map(), credentials, clock: Date.now });
  });

  it('tells of a key that the provider of a batch refuses, and of nothing else', async () => {
    const candidate = (await caller.withKey(plain, SCOPE))!;
    await caller.accessTo(candidate, SCOPE, new AbortController().signal);
    for (const status of [404, 429, 500]) {
      caller.noteFailure(candidate, SCOPE, upstreamError(provider, status, {}, Buffer.alloc(0)));
    }
    expect(told).toEqual([]);
    caller.noteFailure(candidate, SCOPE, upstreamError(provider, 403, {}, Buffer.alloc(0)));
    const { organizationId, workspaceId } = SCOPE;
    expect(told).toEqual([['own', { organizationId, workspaceId }, KEY, 403]]);
  });

  it('tells that the provider of a batch takes a key that it had refused, and only of such a key', async () => {
    for (const wasRefused of [false, true]) {
      credential = { ...own, wasRefused };
      const candidate = (await caller.withSameKey(plain, 'own', SCOPE))!;
      await caller.accessTo(candidate, SCOPE, new AbortController().signal);
      caller.noteAnswer(candidate, SCOPE);
    }
    const { organizationId, workspaceId } = SCOPE;
    expect(told).toEqual([['own', { organizationId, workspaceId }, KEY, 'accepted']]);
  });

  it('leaves out settings that an endpoint does not list, in translated lines and in those that pass', () => {
    const adapters = createProviderAdapters(new UpstreamHttp());
    const credentials = new SharedCredentials({ ACME_API_KEY: 'shared' });
    const batches = new NativeBatchCaller({ adapters, credentials, clock: Date.now });
    const request = { messages: [{ role: 'user', content: 'Hello' }], temperature: 0.5, top_p: 0.5, verbosity: 'low' };
    const written = (protocol: string, apis: readonly Api[]): string => {
      const listing = anEndpoint({ provider: aProvider({ protocol }), apis, supportedParameters: ['top_p'] });
      return batches
        .laneOf('chat', listing)!
        .write('nb-0', Buffer.from(JSON.stringify(request)))
        .toString();
    };
    for (const line of [written('google', ['chat']), written('anthropic', ['messages']), written('openai', ['chat'])]) {
      expect(line).toMatch(/"top_?p":0.5/i);
      expect(line).not.toMatch(/temperature|verbosity/);
    }
  });

  it('writes no line for shared capacity that only a key of the caller’s own could pay', () => {
    const adapters = createProviderAdapters(new UpstreamHttp());
    const credentials = new SharedCredentials({ ACME_API_KEY: 'shared' });
    const batches = new NativeBatchCaller({ adapters, credentials, clock: Date.now });
    const listing = anEndpoint({ provider: aProvider({ protocol: 'openai' }), apis: ['responses'] });
    const write = (account: ProviderAccount, members: object) =>
      batches
        .laneOf('responses', listing, account)!
        .write('nb-0', Buffer.from(JSON.stringify({ input: 'Hi', ...members })));
    for (const [members, param] of ASKS_FOR_OWN_KEY) {
      expect(() => write(SHARED_ACCOUNT, members)).toThrow(expect.objectContaining({ metadata: { param } }));
      expect(() => write({ isOwn: true, keepsNothing: false }, members)).not.toThrow();
    }
    expect(() => write(SHARED_ACCOUNT, {})).not.toThrow();
  });

  it('begins no batch with a refused key, and stays with the key of one that runs', async () => {
    credential = { ...own, wasRefused: true, refusedForMs: 60_000 };
    expect(await caller.withKey(plain, SCOPE)).toMatchObject({ credential: null });
    expect(await caller.withSameKey(plain, 'own', SCOPE)).toMatchObject({ credential });
    credential = { ...credential, isByokOnly: true };
    expect(await caller.withKey(plain, SCOPE)).toBeNull();
  });
});
