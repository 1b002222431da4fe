import { catalogueOf } from '../support/catalogue';
import type { ApiAnswer, ApiClient } from '../support/client';
import type { Installation } from '../support/installation';
import { giveBack, shareInstallation } from '../support/shared-installations';

type Body = Readonly<Record<string, unknown>>;

interface Refusal {
  readonly error: { readonly code: number; readonly metadata: { readonly param?: string } };
}

const MODEL = 'named/film';
const UNKNOWN_ID = '11111111-2222-4333-8444-555555555555';
const OVER = '2020-01-01T00:00:00Z';
const CODE = { callback_url: 'https://app.example/back' };
const ISSUER = { name: 'Test', issuer_url: 'https://issuer.example' };
const PLAIN = { code_challenge: 'c'.repeat(43), code_challenge_method: 'plain' };

let installation: Installation;
let manager: ApiClient;
let client: ApiClient;

beforeAll(async () => {
  const models = JSON.parse(
    catalogueOf([
      {
        slug: MODEL,
        provider: 'named-films',
        baseUrl: 'http://127.0.0.1:1/v1',
        apis: ['video'],
        pricing: { prompt: '0', completion: '0' },
      },
    ]),
  ) as { models: { endpoints: { pricing: object; capabilities: object }[] }[] };
  const [endpoint] = models.models[0]!.endpoints;
  endpoint!.pricing = { video_second: '0.001' };
  endpoint!.capabilities = { video: { durations: [2], frame_images: ['first_frame'] } };
  installation = await shareInstallation({
    catalogue: JSON.stringify(models),
    apps: ['auth', 'credentials', 'gateway'],
  });
  manager = installation.client(installation.seed.managementKey);
  client = installation.client();
}, 240_000);

afterAll(async () => {
  await Promise.all([manager, client].map((each) => each?.close()));
  await giveBack(installation);
});

const paramOf = ({ status, body }: ApiAnswer<Refusal>): unknown[] => [status, body.error?.metadata?.param];

/** Members that are well-formed, and whose fault shows only where the rest is known. */
const FAULTS: readonly (readonly [string, string, Body, string])[] = [
  ['a key that would be over', '/keys', { name: 'k', expires_at: OVER }, 'expires_at'],
  ['a key in a workspace of nobody', '/keys', { name: 'k', workspace_id: UNKNOWN_ID }, 'workspace_id'],
  ['a workspace with a slug that is taken', '/workspaces', { name: 'w', slug: 'default' }, 'slug'],
  ['a code for a key that would be over', '/auth/keys/code', { ...CODE, expires_at: OVER }, 'expires_at'],
  ['a code for a workspace of nobody', '/auth/keys/code', { ...CODE, workspace_id: UNKNOWN_ID }, 'workspace_id'],
  [
    'an issuer on a private address',
    '/workload-identity/issuers',
    { ...ISSUER, issuer_url: 'https://10.0.0.1' },
    'issuer_url',
  ],
  [
    'an issuer with keys without TLS',
    '/workload-identity/issuers',
    { ...ISSUER, jwks_url: 'http://keys.example' },
    'jwks_url',
  ],
];

const policy = (members: Body): Body => ({
  issuer_id: UNKNOWN_ID,
  name: 'p',
  subject: 's',
  audience: 'a',
  api_key_hash: '0'.repeat(64),
  ...members,
});

describe('a member that cannot be used', () => {
  it.each(FAULTS)('is named for %s', async (_what, path, body, param) => {
    expect(paramOf(await manager.request<Refusal>('POST', path, body))).toEqual([400, param]);
  });

  it('is named for a policy that binds nobody, and for one of an issuer that is not there', async () => {
    const { data: keys } = (await manager.request<{ data: { hash: string; label: string }[] }>('GET', '/keys')).body;
    const key = { api_key_hash: keys.find(({ label }) => !label.includes('mgmt'))!.hash };
    const make = (members: Body): Promise<ApiAnswer<Refusal>> =>
      manager.request<Refusal>('POST', '/workload-identity/policies', policy({ ...key, ...members }));
    expect(paramOf(await make({}))).toEqual([400, 'issuer_id']);
    expect(paramOf(await make({ subject: null }))).toEqual([400, 'subject']);
  });

  it('is named where a code is exchanged with another method than it was made with', async () => {
    const made = await manager.request<{ data: { id: string } }>('POST', '/auth/keys/code', { ...CODE, ...PLAIN });
    const proof = { code: made.body.data.id, code_verifier: 'c'.repeat(43), code_challenge_method: 'S256' };
    expect(paramOf(await client.request<Refusal>('POST', '/auth/keys', proof))).toEqual([400, 'code_challenge_method']);
  });

  it.each(['http://pictures.example/a.png', 'https://10.0.0.1/a.png'])(
    'is named for the picture at %s',
    async (url) => {
      const frame = { type: 'image_url', image_url: { url }, frame_type: 'first_frame' };
      const job = { model: MODEL, prompt: 'A heron lands.', frame_images: [frame] };
      const answer = await client.request<Refusal>('POST', '/videos', job);
      expect(paramOf(answer)).toEqual([400, 'frame_images[0].image_url.url']);
    },
  );

  it.each([null, {}, 'x'])('is named for a batch whose requests are %j', async (requests) => {
    const batch = { endpoint: '/v1/chat/completions', model: MODEL, requests };
    expect(paramOf(await client.request<Refusal>('POST', '/batches', batch))).toEqual([400, 'requests']);
  });
});
