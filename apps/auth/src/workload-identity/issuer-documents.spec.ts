import { generateKeyPairSync } from 'node:crypto';
import { Egress } from '@libs/platform';
import { HttpsHost } from '@libs/platform/testing';
import { fetchKeys } from './issuer-documents';

const jwk = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });
const KEYS = JSON.stringify({ keys: [{ ...jwk, kid: 'a' }] });

interface Answer {
  readonly status?: number;
  readonly type?: string;
  readonly location?: string;
  readonly body: string;
}

let host: HttpsHost;
let egress: Egress;

/** What the host answers by path; anything else is 404. */
function serve(answers: Readonly<Record<string, Answer>>): void {
  host.answerWith((request, response) => {
    const {
      status = 200,
      type = 'application/json',
      location,
      body,
    } = answers[request.url ?? ''] ?? {
      status: 404,
      body: '{}',
    };
    response.writeHead(status, { 'content-type': type, ...(location !== undefined && { location }) }).end(body);
  });
}

function configuration(members: object = {}): Answer {
  return { body: JSON.stringify({ issuer: host.url('/tenant'), jwks_uri: host.url('/keys'), ...members }) };
}

const DISCOVERY = '/tenant/.well-known/openid-configuration';
const keyIds = async (jwksUrl: string | null = null): Promise<unknown> =>
  (await fetchKeys(egress, { organizationId: 'o', issuerUrl: host.url('/tenant'), jwksUrl })).map(({ keyId }) => keyId);

beforeAll(async () => {
  host = await HttpsHost.start(() => undefined);
  egress = new Egress({ allowCidrs: ['127.0.0.0/8'], certificateAuthorities: host.certificate });
});

beforeEach(() => {
  host.requests.length = 0;
});

afterAll(() => host.stop());

describe(fetchKeys.name, () => {
  it('finds the keys through the configuration of the issuer', async () => {
    serve({ [DISCOVERY]: configuration(), '/keys': { body: KEYS, type: 'application/jwk-set+json; charset=utf-8' } });
    expect(await keyIds()).toEqual(['a']);
  });

  it('goes to the keys at once when it was told where they are', async () => {
    serve({ '/elsewhere': { body: KEYS } });
    expect(await keyIds(host.url('/elsewhere'))).toEqual(['a']);
    expect(host.requests.map(({ path }) => path)).toEqual(['/elsewhere']);
  });

  it.each<[string, () => Record<string, Answer>]>([
    ['there is no configuration', () => ({ '/keys': { body: KEYS } })],
    ['the configuration is broken', () => ({ [DISCOVERY]: { status: 500, body: '{}' }, '/keys': { body: KEYS } })],
    [
      'the configuration is that of another issuer',
      () => ({ [DISCOVERY]: configuration({ issuer: 'https://x' }), '/keys': { body: KEYS } }),
    ],
    ['the configuration names no keys', () => ({ [DISCOVERY]: configuration({ jwks_uri: 1 }) })],
    [
      'the keys are not at https',
      () => ({ [DISCOVERY]: configuration({ jwks_uri: host.url('/keys').replace('https', 'http') }) }),
    ],
    [
      'the keys are at a private address',
      () => ({ [DISCOVERY]: configuration({ jwks_uri: 'https://10.0.0.1/keys' }) }),
    ],
    [
      'the keys are redirected',
      () => ({
        [DISCOVERY]: configuration(),
        '/keys': { status: 302, location: '/real', body: '' },
        '/real': { body: KEYS },
      }),
    ],
    ['the keys are a page', () => ({ [DISCOVERY]: configuration(), '/keys': { type: 'text/html', body: KEYS } })],
    ['the keys are cut off', () => ({ [DISCOVERY]: configuration(), '/keys': { body: KEYS.slice(0, -1) } })],
    ['the keys are none', () => ({ [DISCOVERY]: configuration(), '/keys': { body: '{"keys":[]}' } })],
    [
      'the keys stand among very many values',
      () => ({
        [DISCOVERY]: configuration(),
        '/keys': { body: `${KEYS.slice(0, -1)},"x":[${'{},'.repeat(5_000)}0]}` },
      }),
    ],
    ['the keys are too long', () => ({ [DISCOVERY]: configuration(), '/keys': { body: KEYS + ' '.repeat(262_144) } })],
  ])('has no keys when %s', async (_what, answers) => {
    serve(answers());
    await expect(keyIds()).rejects.toMatchObject({ name: 'AppError' });
    expect(host.requests.map(({ path }) => path)).not.toContain('/real');
  });
});
