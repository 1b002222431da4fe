import { anEndpoint } from '../testing';
import { dialectOf } from './index';

const ZDR = { zdr: true };

describe('members that make an upstream keep something', () => {
  const sent = (api: 'chat' | 'responses', body: object, endpoint: object, isOwnKey: boolean): object =>
    JSON.parse(
      dialectOf(api)
        .toUpstream(
          Buffer.from(JSON.stringify({ model: 'm', ...body })),
          anEndpoint(endpoint),
          false,
          undefined,
          isOwnKey,
        )
        .toString(),
    ) as object;

  it.each([
    ['chat', { store: true, metadata: { a: 'b' } }, {}, false, ['store', 'metadata']],
    ['chat', { store: true, metadata: { a: 'b' } }, ZDR, true, ['store', 'metadata']],
    ['chat', { prompt_cache_retention: '24h' }, ZDR, false, ['prompt_cache_retention']],
    ['responses', { prompt_cache_retention: '24h' }, ZDR, false, ['prompt_cache_retention']],
    ['responses', { previous_response_id: 'r', conversation: 'c' }, {}, true, ['previous_response_id', 'conversation']],
  ] as const)('on %s takes them out of %j for %j, own key %s', (api, body, endpoint, isOwnKey, names) => {
    for (const name of names) expect(sent(api, body, endpoint, isOwnKey)).not.toHaveProperty(name);
  });

  it('leaves a stored completion of the own key, and metadata that nothing is stored under', () => {
    expect(sent('chat', { store: true, metadata: { a: 'b' } }, {}, true)).toMatchObject({ store: true });
    expect(sent('chat', { store: false, metadata: { a: 'b' } }, {}, false)).toHaveProperty('metadata', { a: 'b' });
  });
});
