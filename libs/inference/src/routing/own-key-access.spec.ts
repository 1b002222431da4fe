import { Secret } from '@libs/contracts';
import { anEndpoint, aProvider } from '../testing';
import { accessWith } from './own-key-access';

function access(key: unknown, provider: object = {}, endpoint: object = {}) {
  const text = typeof key === 'string' ? key : JSON.stringify(key);
  const found = accessWith(new Secret(text), anEndpoint({ provider: aProvider(provider), ...endpoint }));
  return found && { key: found.apiKey.reveal(), url: found.endpoint.provider.baseUrl };
}

const OPENAI = { slug: 'openai', baseUrl: 'https://api.openai.com/v1' };
const AZURE = { slug: 'azure', protocol: 'azure', baseUrl: 'https://mine.openai.azure.com/openai/v1' };
const SERVICE_ACCOUNT = { client_email: 'a@b', private_key: 'x' };

describe(accessWith.name, () => {
  it('takes a plain text for the key, at the endpoint as it is', () => {
    expect(access('sk-own', OPENAI)).toEqual({ key: 'sk-own', url: OPENAI.baseUrl });
  });

  it.each(['bedrock', 'google-vertex'])('leaves documents to adapters that read them: %s', (protocol) => {
    expect(access(SERVICE_ACCOUNT, { protocol })?.key).toBe(JSON.stringify(SERVICE_ACCOUNT));
  });

  it.each([
    ['europe', OPENAI, 'https://eu.api.openai.com/v1'],
    ['us', OPENAI, 'https://us.api.openai.com/v1'],
    ['global', OPENAI, 'https://api.openai.com/v1'],
    [
      'europe',
      { slug: 'fireworks', baseUrl: 'https://api.fireworks.ai/inference/v1' },
      'https://eu.api.fireworks.ai/inference/v1',
    ],
    ['europe', { slug: 'openai', baseUrl: 'https://proxy.example/v1' }, 'https://proxy.example/v1'],
  ])('sends a key of region %s to its host', (region, provider, url) => {
    expect(access({ api_key: 'sk-own', region }, provider)).toEqual({ key: 'sk-own', url });
  });

  it('keeps connections of a region by giving it one provider', () => {
    const endpoint = anEndpoint({ provider: aProvider(OPENAI) });
    const providerOf = (region: string) =>
      accessWith(new Secret(JSON.stringify({ api_key: 'sk-own', region })), endpoint)?.endpoint.provider;
    expect(providerOf('europe')).toBe(providerOf('europe'));
    expect(providerOf('us')).not.toBe(providerOf('europe'));
  });

  it('takes of a list the key of the resource that the endpoint belongs to', () => {
    const entries = [
      { api_key: 'k1', resource_name: 'other', resource_type: 'openai' },
      { api_key: 'k2', resource_name: 'mine', resource_type: 'ai_foundry' },
      { api_key: 'k3', model_slug: 'a/b', model_id: 'm1', endpoint_url: 'https://mine.openai.azure.com/x' },
      { api_key: 'k4', resource_name: 'Mine', resource_type: 'openai' },
    ];
    expect(access(entries, AZURE)).toEqual({ key: 'k4', url: AZURE.baseUrl });
    expect(access(entries, AZURE, { upstreamModel: 'm1' })?.key).toBe('k3');
    expect(access(entries.slice(0, 3), AZURE)).toBeNull();
  });

  it.each(['[]', '[null]', '{}', '{"api_key":""}', '{"api_key":5}', '{broken', '[[]]'])(
    'finds no key in %s',
    (text) => {
      expect(access(text, AZURE)).toBeNull();
    },
  );
});
