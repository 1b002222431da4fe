import type { ProviderAccount } from '../model/provider-account';
import { providerAccountOf } from '../routing/account-of-request';
import { anEndpoint, anOwnCredential } from '../testing';
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
  const keyOf = (api: 'chat' | 'responses', account: ProviderAccount): unknown =>
    sent(api, { prompt_cache_key: 'victim' }, account)['prompt_cache_key'];

  it.each(['chat', 'responses'] as const)('is bound to the tenant on the account of the operator: %s', (api) => {
    const key = keyOf(api, SHARED);
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    expect(keyOf(api, { ...SHARED })).toBe(key);
    expect(keyOf(api, { ...SHARED, tenant: 'other' })).not.toBe(key);
  });

  it.each(['chat', 'responses'] as const)('is the own one on an account of the own: %s', (api) => {
    expect(keyOf(api, OWN)).toBe('victim');
  });

  it('is bound to the tenant in requests that are translated too', () => {
    const request = { promptCacheKey: 'victim' } as CanonicalRequest;
    const keyIn = (account: ProviderAccount) => inAccount(request, anEndpoint(), account, new LossLog()).promptCacheKey;
    expect(keyIn(SHARED)).toBe(keyOf('chat', SHARED));
    expect(keyIn(OWN)).toBe('victim');
  });
});
