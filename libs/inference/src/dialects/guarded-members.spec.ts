import type { CanonicalRequest } from '../model/canonical-request';
import { LossLog } from '../model/loss-report';
import type { ProviderAccount } from '../model/provider-account';
import { anEndpoint } from '../testing';
import { toTokenCount } from './anthropic-messages';
import { inAccount } from './asked-account';
import { dialectOf } from './index';
import { readRequest } from './openai-chat/request-reader';

type Dialect = 'chat' | 'responses' | 'messages' | 'embeddings';

const APIS = ['chat', 'responses', 'messages', 'embeddings'] as const;
const OWN: ProviderAccount = { isOwn: true, keepsNothing: false };
const SHARED: ProviderAccount = { isOwn: false, keepsNothing: false, tenant: 'acme' };
const ZERO: ProviderAccount = { ...SHARED, keepsNothing: true };
const OWN_ZERO: ProviderAccount = { ...OWN, keepsNothing: true };
const HASH = /^[0-9a-f]{64}$/;

const textSent = (api: Dialect, body: object, account: ProviderAccount): string =>
  dialectOf(api)
    .toUpstream(Buffer.from(JSON.stringify({ model: 'm', ...body })), anEndpoint(), false, undefined, account)
    .toString();
const sent = (api: Dialect, body: object, account: ProviderAccount): Record<string, unknown> =>
  JSON.parse(textSent(api, body, account)) as Record<string, unknown>;

describe.each(APIS)('the lifetime of a prompt cache: %s', (api) => {
  const options = { mode: 'explicit', ttl: '24h' };

  it('does not reach an upstream that must keep nothing', () => {
    for (const account of [ZERO, OWN_ZERO]) {
      expect(sent(api, { prompt_cache_options: options }, account)).toHaveProperty('prompt_cache_options', {
        mode: 'explicit',
      });
      for (const name of ['promptCacheOptions', 'PROMPT_CACHE_OPTIONS', 'prompt-cache-options']) {
        expect(textSent(api, { [name]: options }, account)).not.toContain('24h');
      }
      for (const value of ['24h', [options]]) {
        expect(textSent(api, { prompt_cache_options: value }, account)).not.toContain('24h');
      }
    }
  });

  it('passes where something may be kept', () => {
    for (const account of [SHARED, OWN]) {
      expect(sent(api, { prompt_cache_options: options }, account)).toMatchObject({ prompt_cache_options: options });
    }
  });
});

describe('marks in the content of a request', () => {
  const marked = (mark: object): object => ({ type: 'text', text: 'prompt_cache_breakpoint', ...mark });
  const bodies = {
    chat: (part: object) => ({ messages: [{ role: 'user', content: [part] }], tools: [part] }),
    messages: (part: object) => ({ system: [part], messages: [{ role: 'user', content: [part] }], tools: [part] }),
    responses: (part: object) => ({ input: [{ role: 'user', content: [part] }], tools: [part] }),
  };

  it.each(['chat', 'messages', 'responses'] as const)('have no lifetime where nothing may be kept: %s', (api) => {
    const long = marked({ prompt_cache_breakpoint: { mode: 'explicit', ttl: '24h' } });
    const short = marked({ prompt_cache_breakpoint: { mode: 'explicit' } });
    expect(sent(api, bodies[api](long), ZERO)).toMatchObject(bodies[api](short));
    expect(textSent(api, bodies[api](long), ZERO)).not.toContain('24h');
    expect(sent(api, bodies[api](long), SHARED)).toMatchObject(bodies[api](long));
    for (const name of ['promptCacheBreakpoint', 'PROMPT_CACHE_BREAKPOINT']) {
      expect(textSent(api, bodies[api](marked({ [name]: { mode: 'explicit', ttl: '24h' } })), ZERO)).not.toContain(
        '24h',
      );
    }
  });

  it('last an hour at most where nothing may be kept', () => {
    const of = (ttl: string) => bodies.messages(marked({ cache_control: { type: 'ephemeral', ttl } }));
    expect(sent('messages', of('1h'), ZERO)).toMatchObject(of('1h'));
    expect(textSent('messages', of('24h'), ZERO)).not.toContain('24h');
  });
});

describe.each(APIS)('what is for our records alone: %s', (api) => {
  it('reaches no upstream, in no spelling', () => {
    for (const name of ['session_id', 'sessionId', 'SESSION-ID', 'trace', 'Trace', 'external_user', 'externalUser']) {
      for (const account of [SHARED, ZERO, OWN, OWN_ZERO]) {
        expect(textSent(api, { [name]: 'canary' }, account)).not.toContain('canary');
      }
    }
  });
});

describe('who the end user is', () => {
  it.each([
    ['chat', 'user'],
    ['chat', 'safety_identifier'],
    ['responses', 'user'],
    ['responses', 'safety_identifier'],
    ['embeddings', 'user'],
    ['embeddings', 'safety_identifier'],
  ] as const)('is a hash of organization and user on %s: %s', (api, name) => {
    const of = (account: ProviderAccount): unknown => sent(api, { [name]: 'alice@example.com' }, account)[name];
    expect(of(SHARED)).toMatch(HASH);
    expect(of(SHARED)).toBe(of(ZERO));
    expect(of({ ...SHARED, tenant: 'other' })).not.toBe(of(SHARED));
    expect(of(OWN)).toMatch(HASH);
    expect(sent(api, { [name]: null }, SHARED)).toHaveProperty(name, null);
  });

  it('is a hash of organization and user in the metadata of messages', () => {
    const of = (body: object, tenant: string): unknown => sent('messages', body, { ...SHARED, tenant })['metadata'];
    const named = { metadata: { user_id: 'alice' } };
    expect(of(named, 'acme')).toEqual({ user_id: expect.stringMatching(HASH) as string });
    expect(of(named, 'acme')).toEqual(of({ user: 'alice' }, 'acme'));
    expect(of(named, 'acme')).not.toEqual(of(named, 'other'));
    expect(of({ metadata: { userId: 'alice', a: 'b' } }, 'acme')).toEqual({ a: 'b' });
  });

  const notes = { user_id: 'alice', endUser: 'alice', USER: 'alice', safety_identifier: 'alice', a: 'b' };

  it.each(['chat', 'responses', 'embeddings'] as const)(
    'is not in the metadata of %s for an account of others',
    (api) => {
      const of = (account: ProviderAccount, metadata: unknown = notes): unknown =>
        sent(api, { store: false, metadata }, account)['metadata'];
      for (const account of [SHARED, ZERO, OWN_ZERO]) expect(of(account)).toEqual({ a: 'b' });
      expect(of(OWN)).toEqual(notes);
      expect(of(SHARED, 'text')).toBe('text');
      expect(of(SHARED, { a: 'b' })).toEqual({ a: 'b' });
    },
  );

  it('is not in the metadata of a translated request for an account of others', () => {
    const request = { metadata: notes, messages: [], tools: [] } as unknown as CanonicalRequest;
    const of = (account: ProviderAccount): unknown => inAccount(request, anEndpoint(), account, new LossLog()).metadata;
    for (const account of [SHARED, ZERO, OWN_ZERO]) expect(of(account)).toEqual({ a: 'b' });
    expect(of(OWN)).toEqual(notes);
  });

  it('is read from either member for a translation, as its hash', () => {
    const messages = [{ role: 'user', content: 'x' }];
    const of = (members: object): unknown => readRequest({ messages, ...members }).endUser;
    expect(of({ safety_identifier: 'alice', user: 'bob' })).toBe(of({ user: 'alice' }));
    expect(of({ safety_identifier: 'alice' })).toMatch(HASH);
  });

  it('is the same hash in a translated request', () => {
    const hashed = sent('chat', { user: 'alice' }, OWN)['user'] as string;
    const request = { endUser: hashed, messages: [], tools: [] } as unknown as CanonicalRequest;
    const of = (account: ProviderAccount): unknown => inAccount(request, anEndpoint(), account, new LossLog()).endUser;
    expect(of(SHARED)).toBe(sent('chat', { user: 'alice' }, SHARED)['user']);
    expect(of(OWN)).toBe(hashed);
  });

  it.each(APIS)('does not reach an upstream in a spelling or member that %s does not have', (api) => {
    const names = ['safetyIdentifier', 'User', 'USER', 'user_id', 'userId', 'end_user_id', 'user_security_context'];
    for (const account of [SHARED, OWN]) {
      for (const name of [...names, 'Metadata']) {
        for (const value of ['alice@example.com', { user_id: 'alice@example.com' }, ['alice@example.com']]) {
          expect(textSent(api, { [name]: value }, account)).not.toContain('alice');
        }
      }
      expect(textSent(api, { user: 4711, safety_identifier: 4711 }, account)).not.toContain('4711');
    }
  });

  it('is not in a count of tokens, nor is what makes the upstream keep something', () => {
    const body = { user: 'alice', safety_identifier: 'alice', User: 'alice', prompt_cache_key: 'k', store: true };
    const bytes = Buffer.from(JSON.stringify({ model: 'm', system: 's', ...body, prompt_cache_retention: '24h' }));
    const counted = JSON.parse(toTokenCount(bytes, anEndpoint(), ZERO).toString()) as Record<string, unknown>;
    expect(counted).toEqual({
      model: anEndpoint().upstreamModel,
      system: 's',
      prompt_cache_key: expect.stringMatching(HASH) as string,
    });
  });
});

describe.each(APIS)('the key of a prompt cache on shared capacity: %s', (api) => {
  it.each(['prompt_cache_key', 'prompt_cache_isolation_key', 'cache_salt'])('is bound to the tenant: %s', (name) => {
    const of = (tenant: string): unknown => sent(api, { [name]: 'victim' }, { ...SHARED, tenant })[name];
    expect(of('acme')).toMatch(HASH);
    expect(of('acme')).not.toBe(of('other'));
    expect(sent(api, { [name]: 'victim' }, OWN)).toHaveProperty(name, 'victim');
  });

  it('is not sent where it is no text, or in another spelling', () => {
    for (const value of [12345, true, ['victim'], { a: 'victim' }]) {
      expect(sent(api, { prompt_cache_key: value }, SHARED)).not.toHaveProperty('prompt_cache_key');
    }
    for (const name of ['promptCacheKey', 'PROMPT_CACHE_KEY', 'promptcachekey', 'prompt-cache-key', 'cacheSalt']) {
      for (const value of ['victim', 12345]) {
        expect(sent(api, { [name]: value }, SHARED)).not.toHaveProperty(name);
        expect(sent(api, { [name]: value }, OWN)).toHaveProperty(name, value);
      }
    }
  });
});

describe('responses', () => {
  it('are never stored, by any spelling and on any account', () => {
    const body = { Store: true, previousResponseId: 'r', Conversation: 'c', BACKGROUND: true, ſtore: true };
    for (const account of [SHARED, OWN]) {
      const upstream = sent('responses', body, account);
      for (const name of Object.keys(body)) expect(upstream).not.toHaveProperty(name);
    }
  });
});
