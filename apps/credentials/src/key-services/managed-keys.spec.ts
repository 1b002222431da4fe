import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Secret } from '@libs/contracts';
import { parseManagedKeyName } from './managed-key-name';
import { openManagedKey, type KeyServicePlaces } from './managed-keys';
import { ARN, AWS, GCP_PATH, KeyServiceStandIn, VAULT_TOKEN } from './testing/key-service-stand-in';

const NAMES = [`aws-kms://${ARN}`, `gcp-kms://${GCP_PATH}`, 'vault-transit://byok'];

let standIn: KeyServiceStandIn;
let places: KeyServicePlaces;

beforeEach(async () => {
  standIn = await KeyServiceStandIn.start();
  places = {
    AWS_ACCESS_KEY_ID: AWS.accessKeyId,
    AWS_SECRET_ACCESS_KEY: new Secret(AWS.secretAccessKey),
    AWS_ENDPOINT_URL_KMS: standIn.url,
    GCE_METADATA_HOST: standIn.host,
    CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDKMS: standIn.url,
    VAULT_ADDR: standIn.url,
    VAULT_TOKEN: new Secret(VAULT_TOKEN),
  };
});

afterEach(() => standIn.stop());

const keyOf = (name: string, at = places): ReturnType<typeof openManagedKey> =>
  openManagedKey(parseManagedKeyName(name), at);

describe.each(NAMES)('a key called %s', (name) => {
  const plain = randomBytes(32);

  it('gives back what it was given, for the same context only', async () => {
    const key = keyOf(name);
    const encrypted = await key.encrypt(plain, '["one"]');
    expect(encrypted.includes(plain)).toBe(false);
    expect(await key.decrypt(encrypted, '["one"]')).toEqual(plain);
    const refusal = { code: 'server', internal: expect.stringContaining('answered with 400') };
    await expect(key.decrypt(encrypted, '["two"]')).rejects.toMatchObject(refusal);
    const changed = Buffer.from(encrypted);
    changed[changed.length - 3]! ^= 1;
    await expect(key.decrypt(changed, '["one"]')).rejects.toMatchObject(refusal);
  });

  it('asks once more when its service cannot answer now, and no more', async () => {
    const key = keyOf(name);
    const encrypted = await key.encrypt(plain, 'a');
    standIn.failures = { status: 503, count: 1 };
    expect(await key.decrypt(encrypted, 'a')).toEqual(plain);
    standIn.failures = { status: 429, count: 100 };
    const asked = standIn.asked.length;
    await expect(key.decrypt(encrypted, 'a')).rejects.toMatchObject({ code: 'provider_unavailable' });
    expect(standIn.asked.length - asked).toBe(2);
  });

  it('says that its service does not answer when nobody is there', async () => {
    const key = keyOf(name);
    await standIn.stop();
    await expect(key.encrypt(plain, 'a')).rejects.toMatchObject({ code: 'provider_unavailable' });
    standIn = await KeyServiceStandIn.start();
  });

  it('is refused to whoever is not known, and tells nothing of what was said', async () => {
    const strange = { AWS_SECRET_ACCESS_KEY: new Secret('another'), VAULT_TOKEN: new Secret('another') };
    standIn.failures = { status: 403, count: name.startsWith('gcp') ? 1 : 0 };
    const refused = keyOf(name, { ...places, ...strange }).encrypt(plain, 'a');
    await expect(refused).rejects.toMatchObject({ code: 'server', internal: expect.stringContaining('403') });
    await expect(refused).rejects.not.toThrow('denied');
  });
});

describe('credentials for AWS KMS', () => {
  it('come from the agent of the pod, once', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-agent-'));
    writeFileSync(join(folder, 'token'), 'token of the pod\n');
    const key = keyOf(NAMES[0]!, {
      AWS_ENDPOINT_URL_KMS: standIn.url,
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${standIn.url}agent`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: join(folder, 'token'),
    });
    const encrypted = await key.encrypt(Buffer.alloc(32), 'a');
    expect(await key.decrypt(encrypted, 'a')).toEqual(Buffer.alloc(32));
    expect(standIn.asked.map(({ path }) => path)).toEqual(['/agent', '/', '/']);
    expect(standIn.asked[1]!.headers['x-amz-security-token']).toBe(AWS.sessionToken);
    rmSync(folder, { recursive: true });
  });

  it('are missed where there are none', async () => {
    const key = keyOf(NAMES[0]!, {});
    await expect(key.encrypt(Buffer.alloc(32), 'a')).rejects.toMatchObject({ code: 'server' });
  });
});

describe(parseManagedKeyName.name, () => {
  it.each([
    'aws-kms://alias/sluice',
    'aws-kms://arn:aws:s3:eu-west-1:111122223333:key/a',
    'gcp-kms://projects/a/locations/b/keyRings/c',
    `gcp-kms://${GCP_PATH}/../../other`,
    'vault-transit://',
    'vault-transit://transit/../byok',
    'vault-transit://user:word@byok',
    'azure-kv://vault/key',
  ])('takes no %s', (name) => {
    expect(() => parseManagedKeyName(name)).toThrow('a key management service is not');
  });

  it('takes a mount of several parts', () => {
    expect(parseManagedKeyName('vault-transit://teams/ai/transit/byok')).toMatchObject({
      mount: 'teams/ai/transit',
      name: 'byok',
    });
  });
});
