import type { ProviderAccount } from '../model/provider-account';
import { providerAccountOf } from '../routing/account-of-request';
import type { Endpoint } from '../catalogue/catalogue';
import { anEndpoint, anOwnCredential, aProvider } from '../testing';
import type { CanonicalRequest } from '../model/canonical-request';
import { LossLog } from '../model/loss-report';
import { inAccount } from './asked-account';
import { dialectOf } from './index';

type Request = Parameters<typeof providerAccountOf>[1];

const OWN: ProviderAccount = { isOwn: true, keepsNothing: false };
const SHARED: ProviderAccount = { isOwn: false, keepsNothing: false, tenant: 'acme' };
const STORED = { store: true, metadata: { a: 'b' } };
const LONG = { prompt_cache_retention: '24h' };

type Dialect = 'chat' | 'responses' | 'messages' | 'embeddings';

const sent = (api: Dialect, body: object | string, account: ProviderAccount): Record<string, unknown> =>
  JSON.parse(
    dialectOf(api)
      .toUpstream(
        Buffer.from(typeof body === 'string' ? body : JSON.stringify({ model: 'm', ...body })),
        anEndpoint(),
        false,
        undefined,
        account,
      )
      .toString(),
  ) as Record<string, unknown>;

describe('members that make an upstream keep something', () => {
  it.each([
    ['chat', STORED, SHARED, ['store', 'metadata']],
    ['chat', STORED, { ...OWN, keepsNothing: true }, ['store', 'metadata']],
    ['chat', LONG, { ...SHARED, keepsNothing: true }, ['prompt_cache_retention']],
    ['chat', LONG, { ...OWN, keepsNothing: true }, ['prompt_cache_retention']],
    ['responses', LONG, { ...SHARED, keepsNothing: true }, ['prompt_cache_retention']],
    ['responses', { previous_response_id: 'r', conversation: 'c' }, OWN, ['previous_response_id', 'conversation']],
  ] as const)('on %s takes out of %j in the account %j', (api, body, account, names) => {
    for (const name of names) expect(sent(api, body, account)).not.toHaveProperty(name);
  });

  const KEPT = { deferred: true, background: true, previous_response_id: 'r', conversation: 'c' };
  const names = Object.keys(KEPT);

  it.each(['chat', 'messages', 'embeddings'] as const)('takes each of them out on %s', (api) => {
    for (const account of [SHARED, { ...SHARED, keepsNothing: true }, { ...OWN, keepsNothing: true }]) {
      const upstream = sent(api, { ...KEPT, ...STORED, ...LONG }, account);
      for (const name of [...names, 'store']) expect(upstream).not.toHaveProperty(name);
      expect('prompt_cache_retention' in upstream).toBe(!account.keepsNothing);
    }
    expect(sent(api, { ...KEPT, store: true }, OWN)).toMatchObject({ ...KEPT, store: true });
  });

  it('takes each of them out on responses', () => {
    const upstream = sent('responses', { ...KEPT, store: true }, SHARED);
    for (const name of names) expect(upstream).not.toHaveProperty(name);
    expect(upstream).toHaveProperty('store', false);
  });

  it('leaves the metadata of messages, which only say who calls', () => {
    expect(sent('messages', { store: true, metadata: { user_id: 'u' } }, SHARED)).toHaveProperty('metadata');
  });

  it.each(['chat', 'responses', 'messages', 'embeddings'] as const)(
    'sends a member that is named twice once, as it was judged: %s',
    (api) => {
      const twice =
        '{"model":"m","store":true,"background":true,"tools":[1],"store":false,"background":false,"tools":[]}';
      const bytes = dialectOf(api).toUpstream(Buffer.from(twice), anEndpoint(), false, undefined, SHARED).toString();
      expect(bytes).not.toContain('true');
      expect(bytes).not.toContain('"tools":[1]');
      expect(JSON.parse(bytes)).toMatchObject({ background: false, tools: [] });
    },
  );

  it('leaves a stored completion of the own key, and metadata that nothing is stored under', () => {
    expect(sent('chat', STORED, OWN)).toMatchObject({ store: true });
    expect(sent('chat', { ...STORED, store: false }, SHARED)).toHaveProperty('metadata', { a: 'b' });
  });

  it('never asks for a stored response', () => {
    expect(sent('responses', { store: true }, OWN)).toHaveProperty('store', false);
  });
});

describe('the API of OpenAI and Azure', () => {
  const at = (protocol: string, baseUrl: string, capabilities = {}) =>
    anEndpoint({ provider: aProvider({ protocol, baseUrl }), capabilities });
  const OPENAI = at('openai', 'https://api.openai.com/v1');
  const AZURE = at('azure', 'https://acme.openai.azure.com/openai/v1');
  const sentTo = (endpoint: Endpoint, body: object, account: ProviderAccount): unknown =>
    JSON.parse(
      dialectOf('chat')
        .toUpstream(Buffer.from(JSON.stringify({ model: 'm', ...body })), endpoint, false, undefined, account)
        .toString(),
    );
  const NOTHING_KEPT = { ...OWN, keepsNothing: true };

  it.each([OPENAI, at('openai', 'https://eu.api.openai.com/v1'), AZURE])(
    'gets `store: false` where the account would store answers',
    (endpoint) => {
      for (const account of [SHARED, { ...SHARED, keepsNothing: true }, NOTHING_KEPT]) {
        for (const body of [{}, { store: true }, { store: null }]) {
          expect(sentTo(endpoint, body, account)).toHaveProperty('store', false);
        }
        expect(sentTo(endpoint, { metadata: { a: 'b' } }, account)).not.toHaveProperty('metadata');
      }
      expect(sentTo(endpoint, { metadata: { a: 'b' } }, OWN)).toEqual({
        model: expect.any(String),
        metadata: { a: 'b' },
      });
    },
  );

  it('gets it in translated requests too', () => {
    const request = { metadata: { a: 'b' } } as unknown as CanonicalRequest;
    for (const account of [SHARED, NOTHING_KEPT]) {
      expect(inAccount(request, OPENAI, account, new LossLog())).toHaveProperty('refusesStoring', true);
    }
    expect(inAccount(request, OPENAI, OWN, new LossLog())).not.toHaveProperty('refusesStoring');
    expect(inAccount(request, anEndpoint(), SHARED, new LossLog())).not.toHaveProperty('refusesStoring');
  });

  it.each([
    at('openai', 'https://api.groq.com/openai/v1'),
    at('openai', 'https://api.openai.com.acme.example/v1'),
    at('azure', 'https://acme.openai.azure.com/openai/v1', { chat: { store: false } }),
  ])('is not spoken by others, who may refuse the member', (endpoint) => {
    expect(sentTo(endpoint, {}, SHARED)).not.toHaveProperty('store');
  });

  it('is spoken by whom the catalogue says so', () => {
    const endpoint = at('openai', 'https://acme.example/v1', { chat: { store: true } });
    expect(sentTo(endpoint, {}, SHARED)).toHaveProperty('store', false);
  });
});

describe.each(['chat', 'responses', 'messages', 'embeddings'] as const)(
  'what a provider may take for a member: %s',
  (api) => {
    const KEPT = { store: true, background: true, previous_response_id: 'r', conversation: 'c', deferred: true };
    const ZERO = { ...SHARED, keepsNothing: true };

    it('is taken out with extra_body', () => {
      const body = { extra_body: { ...KEPT, google: { thinking_config: {} } } };
      for (const account of [ZERO, SHARED, { ...OWN, keepsNothing: true }]) {
        expect(sent(api, body, account)).not.toHaveProperty('extra_body');
      }
      expect(sent(api, body, OWN)).toMatchObject(body);
    });

    it('is taken out in another spelling', () => {
      const body = { Store: true, previousResponseId: 'r', BACKGROUND: true, promptCacheRetention: '24h', caching: {} };
      const upstream = sent(api, body, ZERO);
      for (const name of Object.keys(body)) expect(upstream).not.toHaveProperty(name);
    });
  },
);

describe(providerAccountOf.name, () => {
  const credential = anOwnCredential();
  const zdr = anEndpoint({ zdr: true });
  const plain = anEndpoint({ zdr: false });

  it.each<[string, Parameters<typeof providerAccountOf>[0], Request]>([
    ['the terms of the endpoint', { endpoint: zdr }, {}],
    ['what the owner of the key declares', { endpoint: plain, credential: { ...credential, declaredZdr: true } }, {}],
    ['a wish for zero retention', { endpoint: plain, credential }, { preferences: { zdr: true } }],
    ['a wish against collection', { endpoint: plain, credential }, { preferences: { dataCollection: 'deny' } }],
    ['a policy of zero retention', { endpoint: plain, credential }, { policies: [{ isZdrRequired: true }] }],
    ['a policy against collection', { endpoint: plain, credential }, { policies: [{ isDataCollectionDenied: true }] }],
  ])('keeps nothing by %s', (_by, candidate, request) => {
    expect(providerAccountOf(candidate, request)).toMatchObject({ keepsNothing: true });
  });

  it('may keep something where nothing says that it must not', () => {
    expect(providerAccountOf({ endpoint: plain, credential }, { policies: [{}] })).toEqual(OWN);
    const known = { ...credential, declaredZdr: false };
    expect(providerAccountOf({ endpoint: zdr, credential: known }, {})).toEqual(OWN);
  });
});

describe('the key of a prompt cache', () => {
  const keyOf = (api: Dialect, account: ProviderAccount): unknown =>
    sent(api, { prompt_cache_key: 'victim' }, account)['prompt_cache_key'];

  it.each(['chat', 'responses', 'messages', 'embeddings'] as const)(
    'is bound to the tenant on the account of the operator: %s',
    (api) => {
      const key = keyOf(api, SHARED);
      expect(key).toMatch(/^[0-9a-f]{64}$/);
      expect(keyOf(api, { ...SHARED })).toBe(key);
      expect(keyOf(api, { ...SHARED, tenant: 'other' })).not.toBe(key);
    },
  );

  it.each(['chat', 'responses', 'messages', 'embeddings'] as const)(
    'is the own one on an account of the own: %s',
    (api) => {
      expect(keyOf(api, OWN)).toBe('victim');
    },
  );

  it('is bound to the tenant in requests that are translated too', () => {
    const request = { promptCacheKey: 'victim' } as CanonicalRequest;
    const keyIn = (account: ProviderAccount) => inAccount(request, anEndpoint(), account, new LossLog()).promptCacheKey;
    expect(keyIn(SHARED)).toBe(keyOf('chat', SHARED));
    expect(keyIn(OWN)).toBe('victim');
  });
});
