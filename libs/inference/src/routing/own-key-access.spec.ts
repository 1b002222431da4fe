import { Secret } from '@libs/contracts';
import { anEndpoint, aProvider } from '../testing';
import { accessWith } from './own-key-access';

function at(provider: object = {}, endpoint: object = {}) {
  return { model: { slug: 'a/b' }, endpoint: anEndpoint({ provider: aProvider(provider), ...endpoint }) };
}

function access(key: unknown, provider: object = {}, endpoint: object = {}) {
  const text = typeof key === 'string' ? key : JSON.stringify(key);
  const found = accessWith(new Secret(text), at(provider, endpoint));
  return found && { key: found.apiKey.reveal(), url: found.endpoint.provider.baseUrl };
}

const OPENAI = { slug: 'openai', baseUrl: 'https://api.openai.com/v1' };
const AZURE = { slug: 'azure', protocol: 'azure', baseUrl: 'https://your-resource.openai.azure.invalid/openai/v1' };
const SPEECH = { slug: 'azure/speech', protocol: 'azure-speech', baseUrl: 'https://x.cognitiveservices.azure.com' };
const BEDROCK = {
  slug: 'amazon-bedrock',
  protocol: 'bedrock',
  baseUrl: 'https://bedrock-runtime.us-east-1.amazonaws.com',
};
const VERTEX = { slug: 'google-vertex', protocol: 'google-vertex', baseUrl: 'https://aiplatform.googleapis.com/v1' };
const SERVICE_ACCOUNT = { client_email: 'a@b', private_key: 'x', project_id: 'p' };
const AWS_KEYS = { accessKeyId: 'a', secretAccessKey: 's' };
const DEPLOYMENT = { api_key: 'k', model_slug: 'a/b', model_id: 'mine', endpoint_url: 'https://x.openai.azure.com' };
const RESOURCE = { api_key: 'k', resource_name: 'x', resource_type: 'openai' };

describe(accessWith.name, () => {
  it('takes a plain text for the key, at the endpoint as it is', () => {
    expect(access('sk-own', OPENAI)).toEqual({ key: 'sk-own', url: OPENAI.baseUrl });
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
    const endpoint = at(OPENAI);
    const providerOf = (region: string) =>
      accessWith(new Secret(JSON.stringify({ api_key: 'sk-own', region })), endpoint)?.endpoint.provider;
    expect(providerOf('europe')).toBe(providerOf('europe'));
    expect(providerOf('us')).not.toBe(providerOf('europe'));
  });

  it('K1: takes of a list the deployment for the model, else the first resource with the API', () => {
    const entries = [
      { ...RESOURCE, api_key: 'k1', resource_name: 'Mine' },
      { ...RESOURCE, api_key: 'k2', resource_type: 'ai_foundry' },
      { ...DEPLOYMENT, api_key: 'k3', endpoint_url: 'https://mine.services.ai.azure.com/openai/v1' },
    ];
    expect(access(entries, AZURE)).toEqual({ key: 'k3', url: 'https://mine.services.ai.azure.com/openai/v1' });
    expect(access(entries.slice(0, 2), AZURE)).toEqual({ key: 'k1', url: 'https://mine.openai.azure.com/openai/v1' });
    expect(access(entries.slice(1, 2), AZURE)).toEqual({ key: 'k2', url: 'https://x.services.ai.azure.com/openai/v1' });
    expect(access(entries.slice(0, 2), SPEECH)).toEqual({ key: 'k2', url: 'https://x.cognitiveservices.azure.com' });
    expect(access([{ ...DEPLOYMENT, model_slug: 'other/model' }], AZURE)).toBeNull();
    const government = { ...AZURE, baseUrl: 'https://operator.openai.azure.us/openai/v1' };
    expect(access([RESOURCE], government)?.url).toBe('https://x.openai.azure.us/openai/v1');
  });

  it('K1: gives the endpoint the name of the deployment, and none of the headers of the operator', () => {
    const provider = { ...AZURE, headers: { 'x-operator': 'secret' } };
    const { endpoint } = accessWith(new Secret(JSON.stringify([DEPLOYMENT])), at(provider))!;
    expect(endpoint).toMatchObject({ upstreamModel: 'mine', provider: { headers: {}, isOwnPlace: true } });
  });

  it.each([
    ['eu-west-1', 'https://bedrock-runtime.eu-west-1.amazonaws.com'],
    ['us-gov-west-1', 'https://bedrock-runtime.us-gov-west-1.amazonaws.com'],
    ['cn-north-1', 'https://bedrock-runtime.cn-north-1.amazonaws.com.cn'],
    ['eusc-de-east-1', 'https://bedrock-runtime.eusc-de-east-1.amazonaws.eu'],
    ['us-east-1', BEDROCK.baseUrl],
  ])('K2: sends access keys of %s to its host', (region, url) => {
    expect(access({ ...AWS_KEYS, region }, BEDROCK)?.url).toBe(url);
    const fips = { ...BEDROCK, baseUrl: 'https://bedrock-runtime-fips.us-west-2.amazonaws.com' };
    if (region === 'us-east-1') {
      expect(access({ ...AWS_KEYS, region }, fips)?.url).toBe('https://bedrock-runtime-fips.us-east-1.amazonaws.com');
    }
  });

  it('K2: passes over keys of a region in which the endpoint cannot be', () => {
    const european = { ...AWS_KEYS, region: 'eu-west-1' };
    expect(access(european, BEDROCK, { upstreamModel: 'us.meta.llama' })).toBeNull();
    expect(access(european, BEDROCK, { upstreamModel: 'global.meta.llama' })).not.toBeNull();
    expect(access(european, { ...BEDROCK, slug: 'amazon-bedrock/us-east-1' }, { region: 'us-east-1' })).toBeNull();
    const privateLink = 'https://vpce-1.bedrock-runtime.us-east-1.vpce.amazonaws.com';
    expect(access(european, { ...BEDROCK, baseUrl: privateLink })).toBeNull();
    expect(access(european, { ...BEDROCK, baseUrl: 'https://proxy.example' })?.url).toBe('https://proxy.example');
  });

  it.each([
    ['europe-west4', 'https://europe-west4-aiplatform.googleapis.com/v1'],
    ['eu', 'https://aiplatform.eu.rep.googleapis.com/v1'],
    ['global', 'https://aiplatform.googleapis.com/v1'],
    [undefined, VERTEX.baseUrl],
  ])('K3: uses a service account with the region %s at its host', (region, url) => {
    expect(access({ ...SERVICE_ACCOUNT, region }, VERTEX)?.url).toBe(url);
  });

  it('K3: uses a service account in its own project, where the catalogue names that of the operator', () => {
    const base = 'https://us-central1-aiplatform.googleapis.com/v1/projects/operators-own/locations/us-central1';
    const provider = { ...VERTEX, baseUrl: base };
    expect(access(SERVICE_ACCOUNT, provider)?.url).toBe('https://us-central1-aiplatform.googleapis.com/v1');
    expect(access({ ...SERVICE_ACCOUNT, project_id: undefined }, provider)).toBeNull();
    const bound = { ...VERTEX, slug: 'google-vertex/us-central1', baseUrl: base };
    expect(access({ ...SERVICE_ACCOUNT, region: 'europe-west4' }, bound, { region: 'us-central1' })).toBeNull();
  });

  it.each([
    ['a user', 'https://user@x.openai.azure.com/'],
    ['a user that looks like the host', 'https://x.openai.azure.com@evil.com/'],
    ['a port', 'https://x.openai.azure.com:8443/'],
    ['a port that says nothing', 'https://x.openai.azure.com:443/'],
    ['a path upwards', 'https://x.openai.azure.com/openai/v1/../../admin'],
    ['an escaped path', 'https://x.openai.azure.com/%2e%2e/admin'],
    ['another path', 'https://x.openai.azure.com/admin'],
    ['two slashes', 'https://x.openai.azure.com//evil.com/'],
    ['a backslash', 'https://x.openai.azure.com\\@evil.com/'],
    ['a query', 'https://x.openai.azure.com/?host=evil.com'],
    ['a fragment', 'https://x.openai.azure.com/#@evil.com'],
    ['a unicode dot', 'https://x\u3002openai\u3002azure\u3002com/'],
    ['a full-width letter', 'https://x.openai.azure.c\uff4fm/'],
    ['an address', 'https://127.0.0.1/'],
    ['an address of one number', 'https://2130706433/'],
    ['an address of the sixth version', 'https://[::1]/'],
    ['an address as a label', 'https://169.254.169.254.openai.azure.com.evil.com/'],
    ['upper case', 'https://X.OPENAI.AZURE.COM/'],
    ['a trailing dot', 'https://x.openai.azure.com./'],
    ['a longer suffix', 'https://x.openai.azure.com.evil.com/'],
    ['a longer name', 'https://xopenai.azure.com.evil.com/'],
    ['a name that only ends alike', 'https://evilopenai.azure.com/'],
    ['the domain itself', 'https://openai.azure.com/'],
    ['two labels', 'https://a.b.openai.azure.com/'],
    ['no label', 'https://.openai.azure.com/'],
    ['a hyphen at the end', 'https://x-.openai.azure.com/'],
    ['a tab', 'https://x.openai.azure.com\t/'],
    ['another scheme', 'http://x.openai.azure.com/'],
  ])('sends no key to an endpoint_url with %s', (_what, endpoint_url) => {
    expect(access([{ ...DEPLOYMENT, endpoint_url }], AZURE)).toBeNull();
  });

  it.each(['x.evil.com/', 'evil.com/?', 'x@evil.com', 'a.b', '..', '', '-x', 'x\u3002evil'])(
    'sends no key to a resource called %s',
    (resource_name) => {
      expect(access([{ ...RESOURCE, resource_name }], AZURE)).toBeNull();
    },
  );

  it.each([
    'us-east-1.evil.com/',
    'us-east-1/',
    '../us-east-1',
    'US-EAST-1',
    'us-east-1@evil.com',
    'evil',
    '',
    'us-east-1\n',
  ])('sends no key to a region called %s', (region) => {
    expect(access({ ...AWS_KEYS, region }, BEDROCK)).toBeNull();
    expect(access({ ...SERVICE_ACCOUNT, region }, VERTEX)).toBeNull();
  });

  it.each(['p/locations/x', '../p', 'p?x', ''])('uses no project called %s', (project_id) => {
    expect(access({ ...SERVICE_ACCOUNT, project_id, region: 'europe-west4' }, VERTEX)).toBeNull();
  });

  it('sends a key to hosts that the operator adds', () => {
    const provider = { ...AZURE, ownKeyHosts: ['*.apim.example.com', 'localhost:8443'] };
    const urlOf = (endpoint_url: string) => access([{ ...DEPLOYMENT, endpoint_url }], provider)?.url;
    expect(urlOf('https://a.apim.example.com')).toBe('https://a.apim.example.com/openai/v1');
    expect(urlOf('https://localhost:8443')).toBe('https://localhost:8443/openai/v1');
    expect(urlOf('https://localhost')).toBeUndefined();
    expect(urlOf('https://apim.example.com')).toBeUndefined();
  });

  it.each(['[]', '[null]', '{}', '{"api_key":""}', '{"api_key":5}', '{broken', '[[]]'])(
    'finds no key in %s',
    (text) => {
      expect(access(text, AZURE)).toBeNull();
    },
  );
});
