import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { challengeOf, hashApiKey } from '@libs/contracts';
import { catalogueOf } from '../support/catalogue';
import type { ApiAnswer, ApiClient } from '../support/client';
import type { Installation } from '../support/installation';
import { Upstream } from '../support/upstream';
import { Operator, type Tenant } from '../support/operator';
import { giveBack, shareInstallation } from '../support/shared-installations';
import { bytesOf, open, readAnswer, write } from './raw-http';
import { CANARY, expectRefusal } from './refusals';

const MODEL = 'pkce/talker';
const CHAT = { model: MODEL, messages: [{ role: 'user', content: 'Say something please.' }], max_tokens: 8 };
const CALLBACK = 'https://app.example/callback';
/** RFC 7636, appendix B. */
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';
const S256 = { code_challenge: CHALLENGE, code_challenge_method: 'S256' };

interface CodeBody {
  readonly data: { readonly id: string; readonly app_id: number; readonly created_at: string };
}

interface KeyBody {
  readonly key: string;
  readonly user_id: string | null;
}

let upstream: Upstream;
let installation: Installation;
let manager: ApiClient;
let client: ApiClient;
let stranger: Tenant;

beforeAll(async () => {
  upstream = await Upstream.start({ steady: {} });
  const pricing = { prompt: '0.000001', completion: '0.000002' };
  installation = await shareInstallation({
    catalogue: catalogueOf([{ slug: MODEL, provider: 'pkce-talk', baseUrl: upstream.baseUrl('steady'), pricing }]),
    apps: ['auth', 'credentials', 'gateway'],
  });
  manager = installation.client(installation.seed.managementKey);
  client = installation.client();
  stranger = await new Operator(installation).createTenant('Stranger', null);
}, 240_000);

afterAll(async () => {
  await Promise.all([manager, client].map((each) => each?.close()));
  await giveBack(installation);
  await upstream?.stop();
}, 240_000);

const askForCode = (members: object, as = manager): Promise<ApiAnswer<CodeBody>> =>
  as.request<CodeBody>('POST', '/auth/keys/code', { callback_url: CALLBACK, ...members });

/** Without any credential, as the app does it. */
async function redeem(body: object): Promise<ApiAnswer<KeyBody>> {
  const answer = await fetch(`${installation.baseUrl}/auth/keys`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  return {
    status: answer.status,
    headers: Object.fromEntries(answer.headers),
    body: JSON.parse(text) as KeyBody,
    text,
  };
}

async function newCode(members: object = S256): Promise<string> {
  const answer = await askForCode(members);
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
  return answer.body.data.id;
}

async function statusOfCall(key: string): Promise<number> {
  const caller = installation.client(key);
  const { status } = await caller.chat(CHAT);
  await caller.close();
  return status;
}

describe('an authorization code', () => {
  it('becomes the key that was agreed upon, and the key works', async () => {
    const expires_at = `${new Date(Date.now() + 3_600_000).toISOString().slice(0, 19)}Z`;
    const wish = { ...S256, limit: 2.5, usage_limit_type: 'daily', expires_at, key_label: 'My app' };
    const made = await askForCode(wish);
    expect(made).toMatchObject({
      status: 200,
      headers: { 'cache-control': 'no-store' },
      body: { data: { id: expect.stringMatching(/^auth_code_[0-9A-Za-z]{43}$/), app_id: expect.any(Number) } },
    });
    expect(Math.abs(Date.parse(made.body.data.created_at) - Date.now())).toBeLessThan(60_000);

    const got = await redeem({ code: made.body.data.id, code_verifier: VERIFIER });
    expect(got).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' }, body: { user_id: null } });
    expect(await statusOfCall(got.body.key)).toBe(200);
    const owner = installation.client(got.body.key);
    const { body } = await owner.request<{ data: object }>('GET', '/key');
    await owner.close();
    expect(body.data).toMatchObject({
      limit: 2.5,
      limit_reset: 'daily',
      expires_at: expires_at.replace('Z', '.000Z'),
      workspace_id: installation.seed.workspaceId,
      is_management_key: false,
    });
  });

  it.each([
    ['S256', S256, { code_verifier: VERIFIER, code_challenge_method: 'S256' }],
    ['plain', { code_challenge: VERIFIER, code_challenge_method: 'plain' }, { code_verifier: VERIFIER }],
    ['plain, by default', { code_challenge: VERIFIER }, { code_verifier: VERIFIER, code_challenge_method: 'plain' }],
    ['no challenge', {}, {}],
    ['no challenge, and null for a verifier', {}, { code_verifier: null, code_challenge_method: null }],
  ])('can be asked for with %s', async (_what, members, proof) => {
    expect(await redeem({ code: await newCode(members), ...proof })).toMatchObject({ status: 200 });
  });

  it('names the same app for the same host', async () => {
    const ids = await Promise.all(
      ['https://one.example/a', 'https://one.example/b', 'http://localhost:1234/'].map(
        async (callback_url) => (await askForCode({ callback_url })).body.data.app_id,
      ),
    );
    expect(ids[0]).toBe(ids[1]);
    expect(ids[2]).not.toBe(ids[0]);
  });

  it('makes one key of many requests at once, and that key works', async () => {
    const body = JSON.stringify({ code: await newCode(), code_verifier: VERIFIER });
    const head = bytesOf({
      method: 'POST',
      target: '/api/v1/auth/keys',
      headers: [
        ['Host', new URL(installation.baseUrl).host],
        ['Content-Type', 'application/json'],
        ['Content-Length', String(body.length)],
        ['Expect', '100-continue'],
      ],
    });
    const sockets = await Promise.all(Array.from({ length: 100 }, () => open(installation.baseUrl)));
    const answers = sockets.map(readAnswer);
    // Every request has arrived before the first of them is whole.
    const continued = sockets.map((socket) => once(socket, 'data'));
    await Promise.all(sockets.map((socket) => write(socket, head)));
    await Promise.all(continued);
    await Promise.all(sockets.map((socket) => write(socket, Buffer.from(body))));
    const settled = await Promise.all(answers);
    for (const socket of sockets) socket.destroy();
    const won = settled.filter(({ status }) => status === 200);
    expect([won.length, settled.filter(({ status }) => status === 403).length]).toEqual([1, 99]);
    expect(await statusOfCall((JSON.parse(won[0]!.body) as KeyBody).key)).toBe(200);
  });

  it('takes its key with it when it comes a second time', async () => {
    const code = await newCode();
    const first = await redeem({ code, code_verifier: VERIFIER });
    expect(await statusOfCall(first.body.key)).toBe(200);
    expectRefusal(await redeem({ code, code_verifier: VERIFIER }), 403, [code, VERIFIER]);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(await statusOfCall(first.body.key)).toBe(401);
    const hash = hashApiKey(first.body.key);
    const trail = await manager.request<{ data: object[] }>('GET', `/audit?target=${hash}`);
    const known = { action: 'POST /api/v1/auth/keys', target: hash };
    expect(trail.body.data).toMatchObject([
      { ...known, status: 403 },
      { ...known, status: 200 },
    ]);
  });

  it('is refused in the same words, whatever is wrong with it', async () => {
    const [wrong, other, bare, expired] = [await newCode(), await newCode(), await newCode({}), await newCode()];
    await installation.database.rows({
      sql: `UPDATE authorization_codes SET expires_at = now() - interval '1 second' WHERE code_hash = encode(sha256($1::bytea), 'hex')`,
      values: [expired],
    });
    const unknown = `auth_code_${'a'.repeat(43)}`;
    const answers = await Promise.all([
      redeem({ code: unknown, code_verifier: VERIFIER }),
      redeem({ code: 'nothing like a code', code_verifier: VERIFIER }),
      redeem({ code: wrong, code_verifier: randomBytes(32).toString('base64url') }),
      redeem({ code: wrong, code_verifier: 'short' }),
      redeem({ code: other }),
      redeem({ code: bare, code_verifier: VERIFIER }),
      redeem({ code: expired, code_verifier: VERIFIER }),
    ]);
    for (const answer of answers) expectRefusal(answer, 403, [wrong, VERIFIER]);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  });

  it('is refused with 400 for another method, and with 405 for another verb', async () => {
    const code = await newCode();
    expectRefusal(await redeem({ code, code_verifier: VERIFIER, code_challenge_method: 'plain' }), 400);
    expectRefusal(await manager.request('GET', '/auth/keys'), 405);
    expectRefusal(await manager.request('GET', '/auth/keys/code'), 405);
  });

  it('is burnt after five wrong verifiers', async () => {
    const code = await newCode();
    for (let attempt = 0; attempt < 5; attempt += 1) {
      expect((await redeem({ code, code_verifier: challengeOf(String(attempt)) })).status).toBe(403);
    }
    expect((await redeem({ code, code_verifier: VERIFIER })).status).toBe(403);
  });

  it('and its verifier lie nowhere: not in the database, not in a log', async () => {
    const verifier = randomBytes(32).toString('base64url');
    const code = await newCode({ code_challenge: verifier, code_challenge_method: 'plain' });
    const { key } = (await redeem({ code, code_verifier: verifier })).body;
    const rows = await installation.database.rows<{ row: string }>({
      sql: 'SELECT c::text AS row FROM authorization_codes c UNION ALL SELECT k::text FROM api_keys k',
    });
    const logs = ['gateway', 'auth'].flatMap((app) => installation.lastLines(app));
    for (const secret of [code, verifier, key]) {
      expect(rows.filter(({ row }) => row.includes(secret.slice(20)))).toEqual([]);
      expect(logs.filter((line) => line.includes(secret))).toEqual([]);
    }
  });
});

describe('POST /auth/keys/code', () => {
  const at = (text: string): object => ({ expires_at: text });

  it.each<[string, object]>([
    ['K01 callback_url null', { callback_url: null }],
    ['K01 callback_url empty', { callback_url: '' }],
    ['K01 callback_url a number', { callback_url: 1 }],
    ['K02 http elsewhere', { callback_url: `http://${CANARY}.example/` }],
    ['K04 a look-alike of localhost', { callback_url: 'http://localhost.evil.com/' }],
    ['K04 a user called localhost', { callback_url: 'http://localhost@evil.com/' }],
    ['K05 another name for loopback', { callback_url: 'http://127.1/' }],
    ['K06 a script', { callback_url: 'javascript:alert(1)' }],
    ['K07 a fragment', { callback_url: 'https://app.example/#x' }],
    ['K07 a line break', { callback_url: 'https://app.example/\r\nSet-Cookie: a=b' }],
    ['K08 port 0', { callback_url: 'http://localhost:0/' }],
    ['K09 too long', { callback_url: `https://app.example/${'x'.repeat(2_048)}` }],
    ['K12 a short challenge', { ...S256, code_challenge: 'a'.repeat(42) }],
    ['K12 a padded challenge', { ...S256, code_challenge: `${CHALLENGE}=` }],
    ['K12 an empty challenge', { ...S256, code_challenge: '' }],
    ['K13 a long plain challenge', { code_challenge: 'a'.repeat(129), code_challenge_method: 'plain' }],
    ['K14 method s256', { ...S256, code_challenge_method: 's256' }],
    ['K14 method none', { ...S256, code_challenge_method: 'none' }],
    ['K15 method without challenge', { code_challenge_method: 'S256' }],
    ['K16 limit below zero', { limit: -1 }],
    ['K16 limit as text', { limit: '100' }],
    ['K16 limit too fine', { limit: 1e-13 }],
    ['K17 no seconds', at('2099-12-31T23:59Z')],
    ['K17 an offset', at('2099-12-31T23:59:59+02:00')],
    ['K17 no such day', at('2099-02-30T00:00:00Z')],
    ['K17 no such hour', at('2099-01-01T25:00:00Z')],
    ['K17 a leap second', at('2099-12-31T23:59:60Z')],
    ['K17 in the past', at('2020-01-01T00:00:00Z')],
    ['K17 a number', { expires_at: 4_102_444_800 }],
    ['K18 a long label', { key_label: 'x'.repeat(101) }],
    ['K18 control characters', { key_label: 'a\u0007b' }],
    ['K19 hourly', { usage_limit_type: 'hourly' }],
    ['K20 no UUID', { workspace_id: 'default' }],
    ['K20 an unknown workspace', { workspace_id: randomUUID() }],
    ['K21 a long spawn id', { spawn_agent: 'x'.repeat(10_000) }],
    ['unknown members', { anything: { nested: true }, id: 'mine' }],
    ['the limit as keys call it', { limit_usd: 5 }],
  ])('refuses %s', async (_what, members) => {
    expectRefusal(await askForCode(members), 400);
  });

  it('refuses a workspace of somebody else like an unknown one', async () => {
    const foreign = await askForCode({ workspace_id: stranger.workspaceId });
    expectRefusal(foreign, 400, [stranger.workspaceId]);
    expect(foreign.text).toBe((await askForCode({ workspace_id: randomUUID() })).text);
  });

  it.each<[string, object]>([
    ['K03 localhost on a port', { callback_url: 'http://localhost:51423/cb' }],
    ['K03 127.0.0.1 on port 1', { callback_url: 'http://127.0.0.1:1/' }],
    ['K11 an upper-case host with a dot', { callback_url: 'https://APP.example.:8443/' }],
    ['K16 no limit', { limit: null }],
    ['K16 a limit of nothing', { limit: 0 }],
    ['K17 fractions of a second', at('2099-12-31T23:59:59.123Z')],
    ['K18 markup as a label', { key_label: '<b>app</b>' }],
  ])('takes %s', async (_what, members) => {
    expect(await askForCode(members)).toMatchObject({ status: 200 });
  });

  it('is for management keys', async () => {
    expectRefusal(await askForCode(S256, client), 403);
    const nobody = installation.client('sk-nobody');
    expectRefusal(await askForCode(S256, nobody), 401);
    await nobody.close();
  });
});
