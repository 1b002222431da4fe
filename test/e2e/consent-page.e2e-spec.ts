import { catalogueOf } from '../support/catalogue';
import type { ApiClient } from '../support/client';
import { judgeAnswer } from '../support/documented-answers';
import type { Installation } from '../support/installation';
import { Operator, type Tenant } from '../support/operator';
import { giveBack, shareInstallation } from '../support/shared-installations';
import { CANARY } from './refusals';

/** RFC 7636, appendix B. */
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';
const CALLBACK = 'https://app.example/cb?state=xyz';
const ASKED = { callback_url: CALLBACK, code_challenge: CHALLENGE, code_challenge_method: 'S256' };

/** A catalogue is not empty; nothing is asked of it here. */
const UNUSED_MODEL = {
  slug: 'consent/talker',
  provider: 'consent-talk',
  baseUrl: 'http://127.0.0.1:1/v1',
  pricing: { prompt: '0', completion: '0' },
};

interface PageAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

let installation: Installation;
let stranger: Tenant;

beforeAll(async () => {
  installation = await shareInstallation({ catalogue: catalogueOf([UNUSED_MODEL]), apps: ['auth', 'gateway'] });
  stranger = await new Operator(installation).createTenant('Stranger', null);
}, 240_000);

afterAll(() => giveBack(installation));

/** A browser, as far as the page can tell: it keeps cookies and sends forms as they stand. */
class Visitor {
  readonly #cookies = new Map<string, string>();
  #page: PageAnswer | undefined;

  get page(): PageAnswer {
    if (this.#page === undefined) throw new Error('no page was opened');
    return this.#page;
  }

  get cookies(): ReadonlyMap<string, string> {
    return this.#cookies;
  }

  open(members: Readonly<Record<string, string>> = ASKED): Promise<PageAnswer> {
    return this.#send('GET', `/auth?${new URLSearchParams(members).toString()}`);
  }

  /** Sends the form of the page that goes to a path, with what a person enters into it. */
  submit(
    action: string,
    entered: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = { 'sec-fetch-site': 'same-origin' },
  ): Promise<PageAnswer> {
    const fields = { ...fieldsOf(this.page.text, action), ...entered };
    return this.#send('POST', action, fields, headers);
  }

  async follow(): Promise<PageAnswer> {
    return this.#send('GET', this.page.headers.get('location') ?? '');
  }

  async signIn(key: string = installation.seed.managementKey): Promise<PageAnswer> {
    const answer = await this.submit('/auth/session', { management_key: key });
    return answer.status === 303 ? this.follow() : answer;
  }

  async #send(
    method: string,
    path: string,
    fields?: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<PageAnswer> {
    const answer = await fetch(new URL(path, installation.baseUrl), {
      method,
      redirect: 'manual',
      headers: { cookie: [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; '), ...headers },
      ...(fields !== undefined && { body: new URLSearchParams(fields) }),
    });
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
    const text = await answer.text();
    judgeAnswer(method, path, answer.status, text, answer.headers.get('content-type') ?? '');
    return (this.#page = { status: answer.status, headers: answer.headers, text });
  }
}

const unescape = (text: string): string =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');

/** What a browser would send of a form: values of inputs, and the chosen options. */
function fieldsOf(page: string, action: string): Record<string, string> {
  const form = page.split('<form ').find((part) => part.includes(`action="${action}"`));
  if (form === undefined) throw new Error(`the page has no form for ${action}`);
  const [body = ''] = form.split('</form>');
  const inputs = [...body.matchAll(/<input\s[^>]*>/g)].map(([input]) => [
    attributeOf(input, 'name'),
    unescape(attributeOf(input, 'value')),
  ]);
  const selects = [...body.matchAll(/<select [^>]*name="([^"]*)">.*?<\/select>/gs)].map(([select, name]) => [
    name,
    /<option value="([^"]*)" +selected>/.exec(select)?.[1] ?? '',
  ]);
  return Object.fromEntries([...inputs, ...selects]) as Record<string, string>;
}

function attributeOf(tag: string, name: string): string {
  return new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1] ?? '';
}

async function redeem(code: string | null): Promise<{ status: number; key: string }> {
  const answer = await fetch(`${installation.baseUrl}/auth/keys`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code, code_verifier: VERIFIER }),
  });
  return { status: answer.status, key: ((await answer.json()) as { key: string }).key };
}

async function signedIn(members: Readonly<Record<string, string>> = ASKED): Promise<Visitor> {
  const visitor = new Visitor();
  await visitor.open(members);
  expect(await visitor.signIn()).toMatchObject({ status: 200, text: expect.stringContaining('asks for an API key') });
  return visitor;
}

describe('the consent page', () => {
  it('gives an app the key that its visitor agreed to', async () => {
    const visitor = await signedIn({ ...ASKED, limit: '25' });
    expect(fieldsOf(visitor.page.text, '/auth')).toMatchObject({
      limit: '25',
      workspace_id: installation.seed.workspaceId,
    });
    const chosen = { limit: '3.5', usage_limit_type: 'weekly', key_label: 'Mine', expires_on: '2099-12-31' };
    const sentBack = await visitor.submit('/auth', { ...chosen, decision: 'approve' });
    expect(sentBack.status).toBe(303);
    const target = new URL(sentBack.headers.get('location') ?? '');
    expect([target.origin + target.pathname, target.searchParams.get('state')]).toEqual([
      'https://app.example/cb',
      'xyz',
    ]);
    const trail = await installation.database.rows({
      sql: `SELECT status FROM audit_entries WHERE action = 'POST /auth'
              AND organization_id = (SELECT organization_id FROM workspaces WHERE id = $1)`,
      values: [installation.seed.workspaceId],
    });
    expect(trail).toEqual([{ status: 200 }]);
    const { status, key } = await redeem(target.searchParams.get('code'));
    expect(status).toBe(200);
    const owner: ApiClient = installation.client(key);
    const { body } = await owner.request<{ data: object }>('GET', '/key');
    await owner.close();
    expect(body.data).toMatchObject({ limit: 3.5, limit_reset: 'weekly', expires_at: '2099-12-31T23:59:59.000Z' });
  });

  it('shows the code to whoever has a program without a web page', async () => {
    const visitor = await signedIn({ code_challenge: CHALLENGE, code_challenge_method: 'S256' });
    const { status, text } = await visitor.submit('/auth', { decision: 'approve' });
    expect(status).toBe(200);
    expect(await redeem(/auth_code_\w+/.exec(text)?.[0] ?? null)).toMatchObject({ status: 200 });
  });

  it('sends back without a code when its visitor refuses', async () => {
    const visitor = await signedIn();
    const { headers } = await visitor.submit('/auth', { decision: 'deny' });
    expect(headers.get('location')).toBe('https://app.example/cb?state=xyz&error=access_denied');
    const alone = await signedIn({ code_challenge: CHALLENGE });
    expect((await alone.submit('/auth', { decision: 'deny' })).text).toContain('Nothing was given out');
  });

  it('keeps its visitor signed in, until they sign out', async () => {
    const visitor = await signedIn();
    expect((await visitor.open()).text).toContain('asks for an API key');
    expect((await visitor.submit('/auth/session/end', {})).status).toBe(303);
    expect((await visitor.follow()).text).toContain('Sign in to decide');
  });

  it('signs nobody in who has no management key that can be used', async () => {
    for (const key of [installation.seed.apiKey, 'nonsense', '']) {
      const visitor = new Visitor();
      await visitor.open();
      const { status, text } = await visitor.signIn(key);
      expect([status, text.includes('This is no management key that can be used.')]).toEqual([401, true]);
      expect(text).not.toContain(installation.seed.apiKey);
      expect([...visitor.cookies.keys()]).toEqual(['consent_form']);
    }
  });

  it('signs its visitor out when the key is taken back', async () => {
    const operator = new Operator(installation);
    const { key, hash } = await operator.runHere<{ key: string; hash: string }>(
      'keys',
      'create',
      '--name',
      'short',
      '--management',
      '--organization',
      stranger.organizationId,
    );
    const visitor = new Visitor();
    await visitor.open();
    expect((await visitor.signIn(key)).text).toContain('asks for an API key');
    await operator.runHere('keys', 'disable', hash, '--organization', stranger.organizationId);
    expect((await visitor.submit('/auth', { decision: 'approve' })).headers.get('location')).toMatch(/^\/auth\?/);
    expect((await visitor.open()).text).toContain('Sign in to decide');
  });

  it('offers the workspaces of its visitor, and takes no other', async () => {
    const visitor = new Visitor();
    await visitor.open();
    const { text } = await visitor.signIn(stranger.managementKey);
    expect(text).toContain(stranger.workspaceId);
    expect(text).not.toContain(installation.seed.workspaceId);
    const answer = await visitor.submit('/auth', { decision: 'approve', workspace_id: installation.seed.workspaceId });
    expect([answer.status, answer.text.includes('role="alert"')]).toEqual([400, true]);
  });

  it('asks again when something was entered that cannot be', async () => {
    const visitor = await signedIn();
    const wrongs = [
      ['limit', 'ten'],
      ['expires_on', '2020-01-01'],
      ['usage_limit_type', 'hourly'],
    ] as const;
    for (const [name, entered] of wrongs) {
      const answer = await visitor.submit('/auth', { decision: 'approve', [name]: entered });
      expect([answer.status, answer.text.includes('role="alert"')]).toEqual([400, true]);
    }
    expect(
      (await visitor.submit('/auth', { decision: 'approve', limit: '1', expires_on: '', usage_limit_type: '' })).status,
    ).toBe(303);
  });

  it.each<[string, Record<string, string>]>([
    ['nothing', {}],
    ['a callback elsewhere over http', { callback_url: 'http://app.example' }],
    ['a script as callback', { callback_url: 'javascript:alert(1)' }],
    ['a bad challenge', { ...ASKED, code_challenge: CANARY }],
    ['a bad limit', { ...ASKED, limit: CANARY }],
  ])('sends nobody anywhere for %s', async (_what, members) => {
    const answer = await new Visitor().open(members);
    expect(answer).toMatchObject({ status: 400, text: expect.stringContaining('This did not work') });
    expect(answer.headers.get('location')).toBeNull();
    expect(answer.text).not.toContain(CANARY);
  });
});

describe('whoever attacks the consent page', () => {
  it('gets nothing into its markup', async () => {
    const hostile = `"'><script>alert(1)</script>`;
    const visitor = await signedIn({
      ...ASKED,
      callback_url: `https://app.example/?a="'><script>`,
      key_label: hostile,
    });
    expect(visitor.page.text).not.toMatch(/<script/i);
    expect(fieldsOf(visitor.page.text, '/auth')).toMatchObject({ key_label: hostile });
    const again = await visitor.submit('/auth', { decision: 'approve', limit: hostile });
    expect(again).toMatchObject({ status: 400, text: expect.not.stringMatching(/<script/i) });
  });

  it('can neither frame it, nor run or load anything in it', async () => {
    const visitor = await signedIn();
    for (const page of [visitor.page, await new Visitor().open(), await new Visitor().open({})]) {
      const policy = page.headers.get('content-security-policy') ?? '';
      expect(policy).toMatch(
        /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'[^;]*; frame-ancestors 'none'/,
      );
      expect(page.headers.get('x-frame-options')).toBe('DENY');
      expect(page.headers.get('cache-control')).toBe('no-store');
      expect(page.headers.get('referrer-policy')).toBe('no-referrer');
      expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    }
    expect(visitor.page.headers.get('content-security-policy')).toContain(`form-action 'self' https://app.example;`);
  });

  it('keeps the key out of the browser: the cookie is a secret of its own, for this page alone', async () => {
    const visitor = new Visitor();
    const first = await visitor.open();
    expect(first.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^consent_form=[\w-]{43}; Path=\/auth; HttpOnly; SameSite=Strict; Max-Age=3600$/),
    ]);
    const answer = await visitor.submit('/auth/session', { management_key: installation.seed.managementKey });
    expect(answer.headers.getSetCookie().join()).toMatch(
      /consent_session=[\w-]{43}; Path=\/auth; HttpOnly; SameSite=Strict/,
    );
    expect(answer.headers.getSetCookie().join()).not.toContain(installation.seed.managementKey);
    const rows = await installation.database.rows<{ row: string }>({
      sql: 'SELECT s::text AS row FROM consent_sessions s',
    });
    expect(rows.length).toBeGreaterThan(0);
    for (const { row } of rows) expect(row).not.toContain(visitor.cookies.get('consent_session'));
  });

  it('cannot send its forms from another site', async () => {
    const visitor = await signedIn();
    const entered = { decision: 'approve' };
    const forged = [
      await visitor.submit('/auth', entered, { 'sec-fetch-site': 'cross-site' }),
      await (await signedIn()).submit('/auth', entered, { 'sec-fetch-site': 'same-site' }),
      await (await signedIn()).submit('/auth', { ...entered, form_token: '' }),
      await (
        await signedIn()
      ).submit('/auth', { ...entered, form_token: fieldsOf((await signedIn()).page.text, '/auth').form_token! }),
      await (await signedIn()).submit('/auth', entered, { cookie: '' }),
      await (await signedIn()).submit('/auth/session/end', { form_token: 'x' }),
    ];
    for (const { status, headers } of forged) expect([status, headers.get('location')]).toEqual([403, null]);
  });

  it('cannot sign a visitor in as somebody else', async () => {
    const visitor = new Visitor();
    await visitor.open();
    const key = { management_key: stranger.managementKey };
    const forged = await visitor.submit('/auth/session', { ...key, form_token: 'x'.repeat(43) });
    expect([forged.status, visitor.cookies.has('consent_session')]).toEqual([403, false]);
  });

  it('cannot use another verb or another kind of body', async () => {
    const address = new URL('/auth', installation.baseUrl);
    expect((await fetch(address, { method: 'PUT' })).status).toBe(405);
    const json = await fetch(address, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } });
    expect([json.status, json.headers.get('content-type')]).toEqual([400, 'text/html; charset=utf-8']);
    judgeAnswer('POST', '/auth', json.status, await json.text(), 'text/html');
  });
});
