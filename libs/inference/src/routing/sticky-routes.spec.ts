import { anEndpoint } from '../testing';
import { traitsOf } from '../catalogue/endpoint-traits';
import { StickyRoutes, stickyKeyOf } from './sticky-routes';

describe(StickyRoutes.name, () => {
  const endpoint = anEndpoint();
  let nowMs: number;
  let routes: StickyRoutes;

  beforeEach(() => {
    nowMs = 1_000_000;
    routes = new StickyRoutes(() => nowMs);
  });

  it('remembers for ten idle minutes, by conversation and model', () => {
    routes.served('key', 'acme/large', endpoint);
    nowMs += 599_999;
    expect(routes.find('key', 'acme/large')).toBe(traitsOf(endpoint).key);
    expect(routes.find('key', 'acme/small')).toBeNull();
    expect(routes.find('other', 'acme/large')).toBeNull();
    routes.served('key', 'acme/large', endpoint);
    nowMs += 599_999;
    expect(routes.find('key', 'acme/large')).not.toBeNull();
    nowMs += 1;
    expect(routes.find('key', 'acme/large')).toBeNull();
  });

  it('forgets conversations without requests when it knows too many, and none that goes on', () => {
    for (let i = 0; i < 20_001; i += 1) {
      routes.served(`key ${i}`, 'acme/large', endpoint);
      if (i % 1_000 === 0) routes.served('key 0', 'acme/large', endpoint);
    }
    expect(routes.find('key 1', 'acme/large')).toBeNull();
    expect(routes.find('key 0', 'acme/large')).not.toBeNull();
  });
});

describe(stickyKeyOf.name, () => {
  const organizationId = 'org-1';
  const system = { role: 'system', content: 'Be kind.' };
  const user = { role: 'user', content: [{ type: 'text', text: 'Hello' }] };
  const key = (body: unknown, more: object = {}) => stickyKeyOf({ organizationId, body, ...more });

  it('goes by the session, then by the cache key, then by how the conversation begins', () => {
    const body = { messages: [system, user] };
    const keys = [key(body), key(body, { promptCacheKey: 'a' }), key(body, { promptCacheKey: 'a', sessionId: 'a' })];
    expect(new Set(keys).size).toBe(3);
    expect(key({}, { sessionId: 'a' })).toBe(keys[2]);
    expect(key({}, { promptCacheKey: 'a', sessionId: '' })).toBe(keys[1]);
  });

  it('stays the same while the conversation goes on', () => {
    const later = { messages: [system, user, { role: 'assistant', content: 'Hi' }, { role: 'user', content: 'Bye' }] };
    expect(key(later)).toBe(key({ messages: [system, user] }));
    expect(key({ messages: [user, system] })).toBe(key({ messages: [system, user] }));
  });

  it('tells beginnings apart', () => {
    const keys = [
      key({ messages: [user] }),
      key({ messages: [system, user] }),
      key({ messages: [{ ...system, content: 'Be rude.' }, user] }),
      key({ messages: [system, { role: 'user', content: 'Bye' }] }),
      key({ input: 'Hello' }),
      key({ input: 'Hello', instructions: 'Be kind.' }),
    ];
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('never lets organizations meet', () => {
    const body = { messages: [user] };
    for (const more of [{}, { sessionId: 'a' }, { promptCacheKey: 'a' }]) {
      expect(stickyKeyOf({ organizationId: 'org-2', body, ...more })).not.toBe(key(body, more));
    }
  });

  it.each([[null], ['text'], [[]], [{}], [{ messages: [] }], [{ messages: [system] }], [{ input: null }]])(
    'has no key for %j',
    (body) => {
      expect(key(body)).toBeNull();
    },
  );

  it('shows nothing of the conversation', () => {
    expect(key({}, { sessionId: 'visible' })).toMatch(/^[\w-]{43}$/);
  });
});
