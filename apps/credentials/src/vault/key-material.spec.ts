import { BYOK_PROVIDERS, Secret } from '@libs/contracts';
import { regionOfCredential, regionWithNewKey } from './declared-region';
import { labelOfKey } from './key-label';
import { readKeyMaterial } from './key-material';
import { crookedRsaKey, rsaKey } from './testing/rsa-keys';

const SECRET = 'sk-canary-0123456789abcdef-WxYz';
const read = (provider: string, key: unknown) =>
  readKeyMaterial(provider, new Secret(typeof key === 'string' ? key : JSON.stringify(key)));

const regional = { api_key: SECRET, region: 'europe' };
const access = { accessKeyId: 'AKIA0123456789ABCDEF', secretAccessKey: SECRET, region: 'us-east-1' };
const account = {
  type: 'service_account',
  project_id: 'a-project',
  private_key_id: '0123456789abcdef0123456789abcdef0123456f',
  private_key: rsaKey(2_048),
  client_email: 'sluice@a-project.iam.gserviceaccount.com',
  universe_domain: 'googleapis.com',
};
const resource = { api_key: SECRET, resource_name: 'my-resource', resource_type: 'openai' };
const deployment = {
  model_slug: 'openai/gpt-4o',
  endpoint_url: 'https://my-resource.openai.azure.com/openai/deployments/mine',
  api_key: SECRET,
  model_id: 'mine',
};

const endpoint = deployment.endpoint_url;

describe(readKeyMaterial.name, () => {
  it('takes the RSA keys of 4096 bits that some organizations have', () => {
    const long = { ...account, private_key: rsaKey(4_096) };
    expect(() => read('google-vertex', long)).not.toThrow();
  });

  it('names the private key that signs too slowly', () => {
    const slow = { ...account, private_key: rsaKey(4_104) };
    expect(() => read('google-vertex', slow)).toThrow('private_key must be of 2048 to 4096 bits');
  });

  it('takes a plain key for every provider', () => {
    for (const provider of BYOK_PROVIDERS) {
      expect(read(provider, SECRET)).toEqual({ label: 'sk-...WxYz', region: null });
    }
  });

  it.each([
    ['openai', regional, '...WxYz', 'europe'],
    ['fireworks', { ...regional, region: 'global' }, '...WxYz', 'global'],
    ['amazon-bedrock', access, '...WxYz', null],
    ['amazon-bedrock', { ...access, sessionToken: 'IQoJb3JpZ2luX2VjE' }, '...WxYz', null],
    ['claude-on-aws', access, '...WxYz', null],
    ['google-vertex', account, '...456f', null],
    ['google-vertex', { ...account, region: 'europe-west4' }, '...456f', null],
    ['azure', [resource], '...WxYz', null],
    ['azure', [deployment, { ...resource, resource_type: 'ai_foundry' }], '...WxYz', null],
  ])('takes a document of %s', (provider, key, label, region) => {
    expect(read(provider, key)).toEqual({ label, region });
  });

  const prototype = `{"__proto__":{"region":"us"},${JSON.stringify(account).slice(1)}`;

  it.each([
    ['openai', 'broken JSON', '{"api_key":"canary"'],
    ['openai', 'a list', [regional]],
    ['openai', 'no region', { api_key: SECRET }],
    ['openai', 'an unknown region', { ...regional, region: 'eu' }],
    ['openai', 'a region that is no text', { ...regional, region: ['us'] }],
    ['openai', 'no key', { region: 'us' }],
    ['openai', 'an empty key', { ...regional, api_key: '' }],
    ['openai', 'a line break in the key', { ...regional, api_key: 'canary\r\nx: y' }],
    ['openai', 'one member too many', { ...regional, organization: 'canary' }],
    ['openai', 'an inherited member', '{"api_key":"canary","region":"us","__proto__":{}}'],
    ['anthropic', 'a document at all', regional],
    ['fireworks', 'null', '[null]'],
    ['amazon-bedrock', 'no region', { accessKeyId: 'canary', secretAccessKey: SECRET }],
    ['amazon-bedrock', 'a region that is a path', { ...access, region: '../canary' }],
    ['amazon-bedrock', 'a region that is a host', { ...access, region: 'us-east-1.canary.example/' }],
    ['amazon-bedrock', 'a region that is none', { ...access, region: 'canary' }],
    ['amazon-bedrock', 'a number', { ...access, secretAccessKey: 1 }],
    ['google-vertex', 'no private key', { ...account, private_key: undefined }],
    ['google-vertex', 'a private key of another form', { ...account, private_key: 'canary' }],
    ['google-vertex', 'a private key of 4104 bits', { ...account, private_key: rsaKey(4_104) }],
    [
      'google-vertex',
      'a private key of 9600 bits in few characters',
      { ...account, private_key: crookedRsaKey(9_600) },
    ],
    ['google-vertex', 'no account', { ...account, client_email: 'canary' }],
    ['google-vertex', 'another cloud', { ...account, universe_domain: 'canary.example' }],
    ['google-vertex', 'no project', { ...account, project_id: undefined }],
    ['google-vertex', 'a project that is a path', { ...account, project_id: 'canary/locations' }],
    ['google-vertex', 'a region that is a host', { ...account, region: 'us-central1.canary.example/' }],
    ['google-vertex', 'a bucket, which has no use', { ...account, bucket: 'canary' }],
    ['google-vertex', 'an inherited member', prototype],
    ['azure', 'an object', resource],
    ['azure', 'an empty list', '[]'],
    ['azure', 'too long a list', Array.from({ length: 101 }, () => resource)],
    ['azure', 'an unknown type of resource', [{ ...resource, resource_type: 'canary' }]],
    ['azure', 'a resource that is a host', [{ ...resource, resource_name: 'evil.example/canary' }]],
    ['azure', 'a path of another service', [{ ...deployment, endpoint_url: 'https://x.openai.azure.com/canary' }]],
    ['azure', 'a version that is not sent', [{ ...deployment, endpoint_url: `${endpoint}?api-version=canary` }]],
    ['azure', 'a path upwards', [{ ...deployment, endpoint_url: `${endpoint}/../canary` }]],
    ['azure', 'a trailing dot', [{ ...deployment, endpoint_url: 'https://canary.openai.azure.com./' }]],
    ['azure', 'upper case in the host', [{ ...deployment, endpoint_url: 'https://CANARY.openai.azure.com/' }]],
    ['azure', 'a unicode dot', [{ ...deployment, endpoint_url: 'https://canary\u3002openai.azure.com/' }]],
    ['azure', 'an address of the sixth version', [{ ...deployment, endpoint_url: 'https://[::1]/' }]],
    ['azure', 'two names of a deployment', [{ ...deployment, model_id: 'canary' }]],
    ['azure', 'two entries for a model', [deployment, deployment]],
    ['azure', 'two resources of a type', [resource, { ...resource, resource_name: 'canary' }]],
    ['azure', 'plain http', [{ ...deployment, endpoint_url: 'http://canary.openai.azure.com/' }]],
    ['azure', 'a user in the URL', [{ ...deployment, endpoint_url: 'https://canary@x.openai.azure.com/' }]],
    ['azure', 'one bad entry among good ones', [resource, { api_key: SECRET }]],
  ])('refuses for %s: %s', (provider, _what, key) => {
    expect.assertions(2);
    try {
      read(provider, key);
    } catch (thrown) {
      const error = thrown as { message: string };
      expect(thrown).toMatchObject({ code: 'invalid_request', metadata: { param: 'key' } });
      expect(error.message).not.toMatch(/canary|WxYz/);
    }
  });
});

describe(labelOfKey.name, () => {
  it.each([
    ['sk-proj-0123456789abcdefAbCd', 'sk-...AbCd'],
    ['gsk_0123456789abcdefAbCd', 'gs...AbCd'],
    ['0123456789-abcdefAbCd', '01...AbCd'],
    ['r8-0123456789abcd-', 'r8-...bcd-'],
    ['a', '***'],
    ['abcd', '***'],
    ['sk-45678', '***'],
    ['sk-45678901', '***'],
    ['sk-456789012', 'sk-...9012'],
    ['456789012345', '45...2345'],
  ])('shows of %s no more than %s', (key, label) => {
    expect(labelOfKey(key)).toBe(label);
  });
});

describe(regionOfCredential.name, () => {
  it.each([
    ['openai', 'europe', null, 'europe'],
    ['openai', 'europe', 'europe', 'europe'],
    ['openai', null, null, null],
    ['openai', null, 'global', 'global'],
    ['fireworks', 'global', 'global', 'global'],
    ['azure', null, 'europe', 'europe'],
    ['azure', null, 'us', 'us'],
    ['azure', null, null, null],
    ['mistral', null, 'global', 'global'],
    ['google-vertex', null, null, null],
  ] as const)('of %s with a key of %s declared %s is %s', (provider, key, declared, region) => {
    expect(regionOfCredential(provider, key, declared)).toBe(region);
  });

  it.each([
    ['openai', 'europe', 'us'],
    ['openai', 'europe', 'global'],
    ['openai', null, 'europe'],
    ['fireworks', 'us', 'europe'],
    ['mistral', null, 'europe'],
    ['google-vertex', null, 'us'],
    ['amazon-bedrock', null, 'us'],
  ] as const)('refuses for %s with a key of %s that %s is declared', (provider, key, declared) => {
    expect(() => regionOfCredential(provider, key, declared)).toThrow(
      expect.objectContaining({ code: 'invalid_request', metadata: { param: 'declared_region' } }),
    );
  });
});

describe(regionWithNewKey.name, () => {
  it('takes the region of the key where keys have one, and keeps what was declared elsewhere', () => {
    expect(regionWithNewKey('openai', 'us', 'europe')).toBe('us');
    expect(regionWithNewKey('fireworks', null, 'europe')).toBeNull();
    expect(regionWithNewKey('azure', null, 'europe')).toBe('europe');
  });
});
