import { randomUUID } from 'node:crypto';
import { createLocalJWKSet, jwtVerify, UnsecuredJWT, type JSONWebKeySet } from 'jose';
import { hashApiKey } from '@libs/contracts';
import { catalogueOf } from '../support/catalogue';
import type { ApiAnswer, ApiClient } from '../support/client';
import { eventually } from '../support/eventually';
import { feltFor } from '../support/felt-for';
import { Installation } from '../support/installation';
import { Upstream } from '../support/upstream';
import { fencesOf, readMarkdown } from '../docs/markdown';
import { BAD_TOKENS, TokenForge, unfitKeys } from './bad-tokens';
import { IdentityIssuer } from '../support/identity-issuer';
import { Operator, type Tenant } from '../support/operator';
import { CANARY, expectRefusal } from './refusals';

const MODEL = 'identity/talker';
const CHAT = { model: MODEL, messages: [{ role: 'user', content: 'Say something please.' }], max_tokens: 8 };
const CLAIMS = { sub: 'workload', aud: 'sluice' };
const UNKNOWN_ID = '11111111-2222-4333-8444-555555555555';
/** Within which a change of a key must be felt everywhere. */
const FELT_WITHIN_MS = 1_000;

interface TokenBody {
  readonly access_token: string;
  readonly expires_in: number;
  readonly error: string;
  readonly error_description: string;
}

interface Made {
  readonly data: { readonly id: string };
}

let issuer: IdentityIssuer;
let upstream: Upstream;
let installation: Installation;
let manager: ApiClient;
let client: ApiClient;
let stranger: Tenant;
let strangeManager: ApiClient;
let forge: TokenForge;
/** What every token that is refused is answered with. */
let refusal: ApiAnswer<TokenBody>;
let issuerId: string;
let policyId: string;

beforeAll(async () => {
  [issuer, upstream] = await Promise.all([IdentityIssuer.start(), Upstream.start({ steady: {} })]);
  issuer.keys.push(...unfitKeys());
  const pricing = { prompt: '0.000001', completion: '0.000002' };
  installation = await Installation.start({
    catalogue: catalogueOf([{ slug: MODEL, provider: 'identity-talk', baseUrl: upstream.baseUrl('steady'), pricing }]),
    apps: ['auth', 'credentials', 'gateway'],
    environmentOf: { auth: { NODE_EXTRA_CA_CERTS: issuer.certificateFile, EGRESS_ALLOW_CIDRS: '127.0.0.0/8' } },
  });
  manager = installation.client(installation.seed.managementKey);
  client = installation.client();
  stranger = await new Operator(installation).createTenant('Stranger', null);
  strangeManager = installation.client(stranger.managementKey);
  issuerId = (await make('issuers', { name: 'Test', issuer_url: issuer.url })).data.id;
  policyId = await newPolicy({});
  forge = new TokenForge(issuer, CLAIMS);
  const fields = { federation_policy_id: UNKNOWN_ID };
  refusal = await exchange(forge.with({}), { fields });
}, 240_000);

afterAll(async () => {
  await Promise.all([manager, client, strangeManager].map((each) => each?.close()));
  await installation?.stop();
  await Promise.all([issuer?.stop(), upstream?.stop()]);
});

async function make(what: 'issuers' | 'policies' | '../keys', body: object): Promise<Made> {
  const path = what === '../keys' ? '/keys' : `/workload-identity/${what}`;
  const answer = await manager.request<Made>('POST', path, body);
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 201 });
  return answer.body;
}

const policyBody = (members: object): object => ({
  issuer_id: issuerId,
  name: 'made by a test',
  subject: CLAIMS.sub,
  audience: CLAIMS.aud,
  api_key_hash: hashApiKey(installation.seed.apiKey),
  ...members,
});

async function newPolicy(members: object): Promise<string> {
  return (await make('policies', policyBody(members))).data.id;
}

interface Exchange {
  readonly fields?: Readonly<Record<string, string>>;
  readonly bearer?: string | null;
}

async function post(body: string | Buffer, headers: Readonly<Record<string, string>>): Promise<ApiAnswer<TokenBody>> {
  const answer = await fetch(`${installation.baseUrl}/oauth/token`, { method: 'POST', headers, body });
  const text = await answer.text();
  return {
    status: answer.status,
    headers: Object.fromEntries(answer.headers),
    body: JSON.parse(text) as TokenBody,
    text,
  };
}

async function exchange(subjectToken: string, { fields = {}, bearer }: Exchange = {}): Promise<ApiAnswer<TokenBody>> {
  const form = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    federation_policy_id: policyId,
    subject_token: subjectToken,
    ...fields,
  });
  const key = bearer === undefined ? installation.seed.apiKey : bearer;
  return post(form.toString(), {
    'content-type': 'application/x-www-form-urlencoded',
    ...(key !== null && { authorization: `Bearer ${key}` }),
  });
}

async function accessToken(options: Exchange = {}): Promise<string> {
  const answer = await exchange(await issuer.sign(CLAIMS), options);
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
  return answer.body.access_token;
}

async function statusOfCall(bearer: string): Promise<number> {
  const caller = installation.client(bearer);
  const { status } = await caller.chat(CHAT);
  await caller.close();
  return status;
}

/** All but what differs from answer to answer: the time and the id of the request. */
function stableHeaders({ headers }: ApiAnswer): object {
  const { date: _date, 'x-request-id': _id, ...rest } = headers;
  return rest;
}

/** What every refusal by the token endpoint looks like. */
function expectOauthError(answer: ApiAnswer<TokenBody>, status: number, error: string): void {
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status });
  expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', 'content-type': /^application\/json/ });
  expect(Object.keys(answer.body)).toEqual(['error', 'error_description']);
  expect(answer.body.error).toBe(error);
  expect(answer.text).not.toContain(CANARY);
}

describe('an access token', () => {
  it('comes for a token of a trusted issuer, and says whom it stands for', async () => {
    const answer = await exchange(await issuer.sign(CLAIMS));
    expect(answer).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store', pragma: 'no-cache' } });
    expect(answer.body).toEqual({
      access_token: expect.any(String),
      expires_in: expect.any(Number),
      issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      scope: 'inference',
      token_type: 'Bearer',
    });
    const jwks = await client.request<JSONWebKeySet>('GET', '/oauth/jwks');
    expect(jwks.body.keys.map((key) => Object.keys(key).toSorted((a, b) => a.localeCompare(b)))).toEqual([
      ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'],
    ]);
    const publicUrl = new URL(installation.baseUrl).origin;
    const { payload } = await jwtVerify(answer.body.access_token, createLocalJWKSet(jwks.body), {
      algorithms: ['ES256'],
      typ: 'at+jwt',
      issuer: publicUrl,
      audience: publicUrl,
    });
    expect(payload).toMatchObject({
      sub: 'workload',
      scope: 'inference',
      federation_policy_id: policyId,
      federation_issuer_id: issuerId,
    });
    expect(payload.exp! - payload.iat!).toBe(answer.body.expires_in);
  });

  it.each([
    [3_600, 900],
    [300, 299],
    [3, 2],
  ])('ends in good time: for a subject token with %i seconds', async (seconds, least) => {
    const exp = Math.floor(Date.now() / 1_000) + seconds;
    const { body } = await exchange(await issuer.sign({ ...CLAIMS, exp }));
    expect(body.expires_in).toBeLessThanOrEqual(Math.min(900, seconds));
    expect(body.expires_in).toBeGreaterThanOrEqual(least - 1);
  });

  it('runs inference as its key, which pays for it', async () => {
    const { key, data } = (await make('../keys', { name: 'for a workload' })) as unknown as {
      key: string;
      data: { hash: string };
    };
    const token = await accessToken({
      fields: { federation_policy_id: await newPolicy({ api_key_hash: data.hash }) },
      bearer: key,
    });
    expect(await statusOfCall(token)).toBe(200);
    await eventually('the key has paid', 10_000, async () => {
      const { body } = await manager.request<{ data: { usage: number } }>('GET', `/keys/${data.hash}`);
      return body.data.usage > 0 ? true : undefined;
    });
  });

  it('is no key: management endpoints, other headers and other members refuse it', async () => {
    const token = await accessToken();
    const caller = installation.client(token);
    for (const path of ['/keys', '/workspaces', '/workload-identity/policies']) {
      expectRefusal(await caller.request('GET', path), 403, [token]);
    }
    expectRefusal(await caller.request('POST', '/auth/keys/code', { callback_url: 'https://app.example' }), 403);
    await caller.close();
    const byHeader = await fetch(`${installation.baseUrl}/messages`, {
      method: 'POST',
      headers: { 'x-api-key': token, 'content-type': 'application/json' },
      body: JSON.stringify(CHAT),
    });
    expect(byHeader.status).toBe(401);
  });

  it('is refused when it was tampered with, and so is a subject token in its place', async () => {
    const token = await accessToken();
    const [head = '', claims = ''] = token.split('.');
    const payload = JSON.parse(Buffer.from(claims, 'base64url').toString()) as object;
    const forged = [
      `${token.slice(0, -4)}AAAA`,
      `${head}.${claims}.${'A'.repeat(86)}`,
      `${new UnsecuredJWT({ ...payload }).encode()}AA`,
      await issuer.sign(CLAIMS),
      await issuer.sign(payload, { typ: 'at+jwt' }),
    ];
    expect(await Promise.all(forged.map(statusOfCall))).toEqual(forged.map(() => 401));
  });

  it('stops within a second of its key being disabled', async () => {
    const { data } = (await make('../keys', { name: 'short' })) as unknown as { data: { hash: string } };
    const id = await newPolicy({ api_key_hash: data.hash });
    const token = await accessToken({ fields: { federation_policy_id: id } });
    expect(await statusOfCall(token)).toBe(200);
    await manager.request('PATCH', `/keys/${data.hash}`, { disabled: true });
    const isFelt = async (): Promise<boolean> => (await statusOfCall(token)) === 401;
    expect(await feltFor('the token stops', isFelt)).toBeLessThan(FELT_WITHIN_MS);
    const again = await exchange(await issuer.sign(CLAIMS), { fields: { federation_policy_id: id } });
    expectOauthError(again, 400, 'invalid_grant');
  });

  it('outlives its policy, which gives out no other', async () => {
    const id = await newPolicy({});
    const token = await accessToken({ fields: { federation_policy_id: id } });
    await manager.request('PATCH', `/workload-identity/policies/${id}`, { enabled: false });
    expect(await statusOfCall(token)).toBe(200);
    const again = await exchange(await issuer.sign(CLAIMS), { fields: { federation_policy_id: id } });
    expectOauthError(again, 400, 'invalid_grant');
  });
});

describe('POST /oauth/token', () => {
  it.each(BAD_TOKENS)('refuses a token with %s in the same words as any other', async (_what, make) => {
    const answer = await exchange(make(forge));
    expectOauthError(answer, 400, 'invalid_grant');
    expect([answer.text, stableHeaders(answer)]).toEqual([refusal.text, stableHeaders(refusal)]);
  });

  it('refuses a token of which any bit of its signature is another', async () => {
    const token = forge.with({});
    const [header, claims, signature = ''] = token.split('.');
    const flipped = Array.from({ length: 64 }, (_, index) => {
      const bytes = Buffer.from(signature, 'base64url');
      bytes[index]! ^= 1 << (index % 8);
      return `${header}.${claims}.${bytes.toString('base64url')}`;
    });
    const answers = await Promise.all(flipped.map((one) => exchange(one)));
    expect(new Set(answers.map(({ text }) => text))).toEqual(new Set([refusal.text]));
    expect((await exchange(token)).status).toBe(200);
  });

  it('refuses for any policy that is not there for the caller in the same words', async () => {
    const paused = await newPolicy({ enabled: false });
    const orphan = (await make('issuers', { name: 'Gone', issuer_url: issuer.url })).data.id;
    const orphaned = await newPolicy({ issuer_id: orphan });
    await manager.request('DELETE', `/workload-identity/issuers/${orphan}`);
    const wantsMore = [
      { checks: [{ kind: 'token_type', value: 'job' }] },
      { checks: [{ kind: 'scopes', value: 'infer' }] },
      { subject: null, condition: 'claims.sub == "other"' },
      { subject: null, condition: 'claims.missing == "other"' },
      { subject: null, condition: 'claims.sub' },
      { subject: null, condition: 'claims.iat.size() > 1' },
      { audience: 'other' },
    ];
    const ids = [UNKNOWN_ID, paused, orphaned];
    for (const members of wantsMore) ids.push(await newPolicy(members));
    const fields = ids.map((federation_policy_id) => ({ federation_policy_id }));
    const answers = await Promise.all(fields.map(async (each) => exchange(forge.with({}), { fields: each })));
    answers.push(await exchange(forge.with({}), { bearer: stranger.apiKey }));
    expect(answers.map(({ status, text }) => [status, text])).toEqual(answers.map(() => [400, refusal.text]));
  });

  it.each<[string, (forge: TokenForge) => string]>([
    ['a list of audiences with ours in it', (good) => good.with({ aud: ['other', 'sluice'] })],
    ['an end with a fraction', (good) => good.with({ exp: Math.floor(Date.now() / 1_000) + 100.5 })],
    ['a beginning twenty seconds ahead', (good) => good.with({ nbf: Math.floor(Date.now() / 1_000) + 20 })],
    ['no iat', (good) => good.with({ iat: undefined })],
    ['no name of a key where there is one', (good) => good.with({}, { kid: undefined })],
    ['an RSA signature', (good) => good.with({}, {}, good.keyCalled('rs'))],
    ['a claim of 5000 characters', (good) => good.with({ name: 'n'.repeat(5_000) })],
  ])('takes a token with %s', async (_what, make) => {
    expect(await exchange(make(forge))).toMatchObject({ status: 200 });
  });

  it('refuses one of our own access tokens', async () => {
    expect((await exchange(await accessToken())).text).toBe(refusal.text);
  });

  it.each<[string, Readonly<Record<string, string>>, string]>([
    ['no grant type', { grant_type: '' }, 'invalid_request'],
    ['another grant type', { grant_type: 'authorization_code' }, 'unsupported_grant_type'],
    ['no policy', { federation_policy_id: CANARY }, 'invalid_request'],
    ['another type of token', { subject_token_type: 'urn:ietf:params:oauth:token-type:id_token' }, 'invalid_request'],
    ['no JWT', { subject_token: CANARY }, 'invalid_request'],
    ['another scope', { scope: CANARY }, 'invalid_scope'],
  ])('refuses a form with %s', async (_what, fields, error) => {
    expectOauthError(await exchange(await issuer.sign(CLAIMS), { fields }), 400, error);
  });

  it('refuses what is no form, a doubled field, and a body that is too large', async () => {
    const authorization = `Bearer ${installation.seed.apiKey}`;
    const form = 'application/x-www-form-urlencoded';
    const refused: readonly [string, string, number][] = [
      ['{}', 'application/json', 400],
      ['', form, 400],
      ['a=1', `${form}; charset=utf-16`, 400],
      ['a=1', 'multipart/form-data; boundary=x', 400],
      ['grant_type=a&grant_type=a', form, 400],
      ['a=%zz', form, 400],
      ['a=%00', form, 400],
      [Array.from({ length: 51 }, (_, index) => `a${index}=`).join('&'), form, 400],
      [`a=${'x'.repeat(32_767)}`, form, 413],
    ];
    for (const [body, type, status] of refused) {
      expectOauthError(await post(body, { authorization, 'content-type': type }), status, 'invalid_request');
    }
  });

  it('asks for a key of the organization that owns the policy, of either kind', async () => {
    const token = await issuer.sign(CLAIMS);
    expectOauthError(await exchange(token, { bearer: null }), 401, 'invalid_client');
    expectOauthError(await exchange(token, { bearer: 'sk-nobody' }), 401, 'invalid_client');
    expectOauthError(await exchange(token, { bearer: token }), 401, 'invalid_client');
    expectOauthError(await exchange(token, { bearer: stranger.apiKey }), 400, 'invalid_grant');
    expect((await exchange(token, { bearer: installation.seed.managementKey })).status).toBe(200);
  });

  it('keeps subject and access tokens out of the database and the logs', async () => {
    const subjectToken = await issuer.sign({ ...CLAIMS, jti: CANARY });
    const fields = { federation_policy_id: await newPolicy({ single_use: true }) };
    const { body } = await exchange(subjectToken, { fields });
    const rows = await installation.database.rows<{ row: string }>({
      sql: 'SELECT u::text AS row FROM used_token_ids u UNION ALL SELECT p::text FROM federation_policies p',
    });
    const kept = [...rows.map(({ row }) => row), ...['auth', 'gateway'].flatMap((app) => installation.lastLines(app))];
    for (const secret of [CANARY, subjectToken.split('.')[2]!, body.access_token.split('.')[2]!]) {
      expect(kept.filter((text) => text.includes(secret))).toEqual([]);
    }
  });

  it('gives one access token for a token that counts once, however many ask at the same time', async () => {
    const fields = { federation_policy_id: await newPolicy({ single_use: true }) };
    const token = await issuer.sign({ ...CLAIMS, jti: randomUUID() });
    const answers = await Promise.all(Array.from({ length: 200 }, () => exchange(token, { fields })));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      expectOauthError(answer, 400, 'invalid_grant');
    }
    expectOauthError(await exchange(await issuer.sign(CLAIMS), { fields }), 400, 'invalid_grant');
  });

  it('gives one access token for a token that counts once, however many rows name its issuer', async () => {
    const again = { name: 'Again', issuer_url: issuer.url, jwks_url: issuer.jwksUrl };
    const second = (await make('issuers', again)).data.id;
    const policies = [await newPolicy({ single_use: true }), await newPolicy({ single_use: true, issuer_id: second })];
    const token = await issuer.sign({ ...CLAIMS, jti: randomUUID() });
    const [first, other] = policies.map((id) => ({ fields: { federation_policy_id: id } }));
    expect((await exchange(token, first)).status).toBe(200);
    expectOauthError(await exchange(token, other), 400, 'invalid_grant');
  });

  it('knows a new key of the issuer, and asks the issuer no more often for invented ones', async () => {
    const id = (await make('issuers', { name: 'Rotating', issuer_url: issuer.url, jwks_url: issuer.jwksUrl })).data.id;
    const fields = { federation_policy_id: await newPolicy({ issuer_id: id }) };
    const before = issuer.fetches;
    expect((await exchange(await issuer.sign(CLAIMS), { fields })).status).toBe(200);
    const invented = Array.from({ length: 30 }, async (_, index) =>
      exchange(await issuer.sign(CLAIMS, { kid: `invented ${index}` }), { fields }),
    );
    for (const answer of await Promise.all(invented)) expectOauthError(answer, 400, 'invalid_grant');
    expect(issuer.fetches - before).toBe(1);
  });

  it('says that it cannot say while the issuer is away', async () => {
    const id = (await make('issuers', { name: 'Away', issuer_url: issuer.url, jwks_url: issuer.jwksUrl })).data.id;
    const fields = { federation_policy_id: await newPolicy({ issuer_id: id }) };
    issuer.isUp = false;
    const answer = await exchange(await issuer.sign(CLAIMS), { fields });
    issuer.isUp = true;
    expectOauthError(answer, 503, 'temporarily_unavailable');
    expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1);
  });

  it('is described where programs look for it', async () => {
    const { origin } = new URL(installation.baseUrl);
    for (const url of [origin, installation.baseUrl]) {
      const answer = await fetch(`${url}/.well-known/oauth-authorization-server`);
      expect([answer.status, await answer.json()]).toEqual([
        200,
        expect.objectContaining({
          issuer: origin,
          token_endpoint: `${installation.baseUrl}/oauth/token`,
          jwks_uri: `${installation.baseUrl}/oauth/jwks`,
          authorization_endpoint: `${origin}/auth`,
        }),
      ]);
    }
  });
});

describe('issuers and policies', () => {
  it('can be listed, read, changed and deleted', async () => {
    const made = await make('issuers', { name: 'One', issuer_url: issuer.url });
    expect(made.data).toEqual({
      id: made.data.id,
      name: 'One',
      issuer_url: issuer.url,
      jwks_url: null,
      created_at: expect.any(String),
      updated_at: null,
    });
    const path = `/workload-identity/issuers/${made.data.id}`;
    const changed = await manager.request('PATCH', path, { name: 'Two', jwks_url: issuer.jwksUrl });
    expect(changed).toMatchObject({ status: 200, body: { data: { name: 'Two', jwks_url: issuer.jwksUrl } } });
    expect(await manager.request('GET', path)).toMatchObject({ body: changed.body as object });
    const list = await manager.request('GET', '/workload-identity/issuers?limit=100');
    expect(list).toMatchObject({ status: 200, body: { total_count: expect.any(Number) } });
    const policy = await newPolicy({ issuer_id: made.data.id, checks: [{ kind: 'token_type', value: 'job' }] });
    expect(await manager.request('DELETE', path)).toMatchObject({ status: 200, body: { deleted: true } });
    expectRefusal(await manager.request('GET', path), 404);
    expectRefusal(await manager.request('GET', `/workload-identity/policies/${policy}`), 404);
  });

  it('are for management keys of the organization', async () => {
    const paths = [`/workload-identity/issuers/${issuerId}`, `/workload-identity/policies/${policyId}`];
    for (const path of paths) {
      expectRefusal(await client.request('GET', path), 403);
      const unknown = path.replace(/[^/]+$/, UNKNOWN_ID);
      const [foreign, missing] = [await strangeManager.request('GET', path), await manager.request('GET', unknown)];
      expectRefusal(foreign, 404);
      expect(foreign.text).toBe(missing.text);
      expectRefusal(await strangeManager.request('PATCH', path, { name: 'mine' }), 404);
      expectRefusal(await strangeManager.request('DELETE', path), 404);
      expectRefusal(await manager.request('GET', path.replace(/[^/]+$/, 'nonsense')), 404);
    }
  });

  it.each<[string, object]>([
    ['no name', { issuer_url: 'https://issuer.example' }],
    ['no URL', { name: 'a' }],
    ['http', { name: 'a', issuer_url: 'http://issuer.example' }],
    ['a query', { name: 'a', issuer_url: 'https://issuer.example/?a' }],
    ['a user', { name: 'a', issuer_url: `https://${CANARY}@issuer.example` }],
    ['a private address', { name: 'a', issuer_url: 'https://10.0.0.1' }],
    [
      'keys at a private address',
      { name: 'a', issuer_url: 'https://issuer.example', jwks_url: 'https://169.254.169.254' },
    ],
    ['keys over http', { name: 'a', issuer_url: 'https://issuer.example', jwks_url: 'http://issuer.example/keys' }],
  ])('refuse an issuer with %s', async (_what, body) => {
    expectRefusal(await manager.request('POST', '/workload-identity/issuers', body), 400);
  });

  it.each<[string, object, string]>([
    ['neither subject nor condition', { subject: null }, 'subject or condition is required'],
    ['an issuer of nobody', { issuer_id: UNKNOWN_ID }, 'issuer_id'],
    ['a key of nobody', { api_key_hash: 'f'.repeat(64) }, 'api_key_hash'],
    ['a hash that is none', { api_key_hash: CANARY }, 'api_key_hash'],
    ['an audience of 513 characters', { audience: 'a'.repeat(513) }, 'audience'],
    ['a subject that is empty', { subject: '' }, 'subject'],
    ['a condition of 2001 characters', { condition: `claims.a == "${'a'.repeat(1_990)}"` }, 'condition'],
    ['a condition with a regular expression', { condition: 'claims.sub.matches("a+")' }, 'condition'],
    ['a condition with a loop in a loop', { condition: 'claims.a.all(x, x.all(y, y))' }, 'condition'],
    ['a condition over an unknown variable', { condition: 'subject == "a"' }, 'condition'],
    ['a condition that is a number', { condition: '1 + 1' }, 'condition'],
    ['a condition with a long list', { condition: `claims.a in [${'1,'.repeat(400)}1]` }, 'condition'],
    ['an unknown check', { checks: [{ kind: 'groups', value: 'a' }] }, 'checks'],
    ['a check without a value', { checks: [{ kind: 'scopes' }] }, 'checks'],
    ['enabled as a text', { enabled: 'true' }, 'enabled'],
  ])('refuse a policy with %s', async (_what, members, says) => {
    const answer = await manager.request('POST', '/workload-identity/policies', policyBody(members));
    expectRefusal(answer, 400);
    expect(answer.text).toContain(says);
  });

  it('refuse a policy for a management key, and for a key of somebody else', async () => {
    for (const key of [installation.seed.managementKey, stranger.apiKey]) {
      const body = policyBody({ api_key_hash: hashApiKey(key) });
      expectRefusal(await manager.request('POST', '/workload-identity/policies', body), 400);
    }
  });

  it('let a condition and checks decide', async () => {
    const members = {
      subject: null,
      condition: 'claims.groups.exists(group, group == "deploy") && !has(claims.suspended)',
      checks: [{ kind: 'scopes', value: 'infer' }],
    };
    const fields = { federation_policy_id: await newPolicy(members) };
    const ask = async (claims: object): Promise<number> =>
      (await exchange(await issuer.sign({ ...CLAIMS, ...claims }), { fields })).status;
    const good = { groups: ['dev', 'deploy'], scopes: ['infer'] };
    expect(await ask(good)).toBe(200);
    expect(await ask({ ...good, groups: ['dev'] })).toBe(400);
    expect(await ask({ ...good, groups: undefined })).toBe(400);
    expect(await ask({ ...good, suspended: false })).toBe(400);
    expect(await ask({ ...good, scopes: ['read'] })).toBe(400);
  });
});

describe('the audit trail', () => {
  it('has one entry for each call with a management key, done or refused, and no secret', async () => {
    const requestId = (index: number): string => `audited-${index}`;
    const call = (index: number, ...[method, path, body]: Parameters<ApiClient['request']>): Promise<ApiAnswer> =>
      manager.request(method, path, body, { 'x-request-id': requestId(index) });
    await call(1, 'GET', '/workload-identity/issuers');
    await call(2, 'PATCH', `/workload-identity/policies/${UNKNOWN_ID}`, { name: 'a' });
    await call(3, 'POST', '/auth/keys/code', { callback_url: CANARY });
    await client.request('GET', '/key', undefined, { 'x-request-id': requestId(4) });
    const entries = await installation.database.rows<Record<string, unknown>>({
      sql: `SELECT action, target, status FROM audit_entries WHERE client_request_id LIKE 'audited-%' ORDER BY id`,
    });
    expect(entries).toEqual([
      { action: 'GET /api/v1/workload-identity/issuers', target: null, status: 200 },
      { action: 'PATCH /api/v1/workload-identity/policies/:id', target: UNKNOWN_ID, status: 404 },
      { action: 'POST /api/v1/auth/keys/code', target: null, status: 400 },
    ]);
  });
});

describe('the walk-throughs of docs/workload-identity.md', () => {
  const { path, text } = readMarkdown('docs/workload-identity.md');

  /** The issuer, the policy and the claims of a section, as they stand in it. */
  function walkThrough(heading: string): object[] {
    const section = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? '';
    const json = fencesOf({ path, text: section, prose: '' }).filter(({ language }) => language === 'json');
    return json.map((fence) => JSON.parse(fence.text) as object);
  }

  it.each<[string, object]>([
    ['GitHub Actions', { sub: 'repo:acme/app:ref:refs/heads/other' }],
    ['GitHub Actions', { job_workflow_ref: 'acme/app/.github/workflows/other.yml@refs/heads/main' }],
    ['Google Kubernetes Engine', { sub: 'system:serviceaccount:prod:other' }],
    ['Kubernetes service accounts', { 'kubernetes.io': { namespace: 'prod', serviceaccount: { name: 'default' } } }],
    ['Kubernetes service accounts', { 'kubernetes.io': { namespace: 'test', serviceaccount: { name: 'reports' } } }],
  ])('%s: let the workload in, and not one with %j', async (heading, other) => {
    const [issuerOfDocument, policy, claims] = walkThrough(heading);
    const jwks_url = issuerOfDocument !== undefined && 'jwks_url' in issuerOfDocument ? issuer.jwksUrl : null;
    const trusted = await make('issuers', { ...issuerOfDocument, issuer_url: issuer.url, jwks_url });
    const api_key_hash = hashApiKey(installation.seed.apiKey);
    const made = await make('policies', { ...policy, issuer_id: trusted.data.id, api_key_hash });
    const fields = { federation_policy_id: made.data.id };
    // These platforms sign with RSA.
    const sign = (changes: object): Promise<string> =>
      issuer.sign({ ...claims, jti: randomUUID(), ...changes }, {}, issuer.keys[1]);
    const token = await accessTokenFor(await sign({}), fields);
    expect(await statusOfCall(token)).toBe(200);
    expectOauthError(await exchange(await sign(other), { fields }), 400, 'invalid_grant');
  });

  async function accessTokenFor(subjectToken: string, fields: Readonly<Record<string, string>>): Promise<string> {
    const answer = await exchange(subjectToken, { fields });
    expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
    return answer.body.access_token;
  }
});
