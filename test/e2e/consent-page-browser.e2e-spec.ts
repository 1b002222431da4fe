import type { Browser, Page } from 'playwright-core';
import { startBrowser } from '../support/browser';
import { catalogueOf } from '../support/catalogue';
import type { Installation } from '../support/installation';
import { giveBack, shareInstallation } from '../support/shared-installations';
import { LoopbackSite } from './loopback-site';

/** RFC 7636, appendix B. */
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';
const [KEY_FIELD, SIGN_IN] = ['#management_key', 'form[action="/auth/session"] button'];
const [ALLOW, REFUSE] = ['button[value="approve"]', 'button[value="deny"]'];
const SIGN_OUT = 'form[action="/auth/session/end"] button';

/** A catalogue is not empty; nothing is asked of it here. */
const UNUSED_MODEL = {
  slug: 'consent/talker',
  provider: 'consent-talk',
  baseUrl: 'http://127.0.0.1:1/v1',
  pricing: { prompt: '0', completion: '0' },
};

/** The label of a field, and its value; of a list the chosen words. What is hidden is left out. */
const SEEN_FIELDS = `Object.fromEntries([...document.querySelectorAll('label')]
  .filter(({ control }) => control !== null && control.checkVisibility())
  .map(({ innerText, control }) => [innerText, control.selectedOptions?.[0].text ?? control.value]))`;

let installation: Installation;
let browser: Browser;
let app: LoopbackSite;
/** What the browser has asked for in the test. */
const requested: string[] = [];
/** What it has written to its console about the pages; a test that brings some about takes them out. */
const complaints: string[] = [];

beforeAll(async () => {
  browser = await startBrowser();
  app = await LoopbackSite.start();
  installation = await shareInstallation({ catalogue: catalogueOf([UNUSED_MODEL]), apps: ['auth', 'gateway'] });
}, 240_000);

afterAll(async () => {
  await Promise.all([browser?.close(), app?.stop(), giveBack(installation)]);
});

beforeEach(() => {
  for (const list of [app.visits, requested, complaints]) list.length = 0;
  app.pages.clear();
});

afterEach(async () => {
  await Promise.all(browser.contexts().map((visit) => visit.close()));
  const known = [installation.baseUrl, app.origin(), app.origin('localhost')].map((url) => new URL(url).origin);
  expect(requested.filter((url) => !known.includes(new URL(url).origin))).toEqual([]);
  expect(complaints).toEqual([]);
});

function address(members: Readonly<Record<string, string>> = {}): string {
  const url = new URL('/auth', installation.baseUrl);
  const asked = {
    callback_url: `${app.origin()}/back?state=xyz`,
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
    ...members,
  };
  url.search = new URLSearchParams(asked).toString();
  return url.href;
}

/** A visitor of their own, who has no cookie of another. */
async function visitor(hasJavaScript = true): Promise<Page> {
  const page = await browser.newPage({ javaScriptEnabled: hasJavaScript });
  page.on('request', (request) => requested.push(request.url()));
  page.on('pageerror', ({ message }) => complaints.push(message));
  page.on('console', (message) => complaints.push(message.text()));
  return page;
}

/** Clicks on what leads to another document, and waits until that is loaded. */
async function follow(page: Page, selector: string): Promise<void> {
  await Promise.all([page.waitForEvent('load'), page.click(selector)]);
}

/** The text of the page, as a person reads it. */
function textOf(page: Page): Promise<string> {
  return page.innerText('body');
}

function fieldsOf(page: Page): Promise<Readonly<Record<string, string>>> {
  return page.evaluate(SEEN_FIELDS);
}

async function signIn(page: Page, key: string = installation.seed.managementKey): Promise<void> {
  await page.fill(KEY_FIELD, key);
  await follow(page, SIGN_IN);
}

async function signedIn(members: Readonly<Record<string, string>> = {}, hasJavaScript = true): Promise<Page> {
  const page = await visitor(hasJavaScript);
  await page.goto(address(members));
  await signIn(page);
  return page;
}

async function keyFor(code: string | null): Promise<string> {
  const answer = await fetch(`${installation.baseUrl}/auth/keys`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code, code_verifier: VERIFIER }),
  });
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { key: string }).key;
}

/** How often somebody agreed to something, in all. */
async function agreements(): Promise<number> {
  const rows = await installation.database.rows({ sql: `SELECT FROM audit_entries WHERE action = 'POST /auth'` });
  return rows.length;
}

describe.each([
  ['with JavaScript', true],
  ['with JavaScript switched off', false],
])('the consent page in a browser %s', (_how, hasJavaScript) => {
  it('shows who asks for what, and gives the key that its visitor agreed to', async () => {
    const page = await visitor(hasJavaScript);
    const asked = { limit: '25', usage_limit_type: 'weekly', expires_at: '2099-12-31T00:00:00Z', key_label: 'Editor' };
    await page.goto(address(asked));
    const { host } = new URL(app.origin());
    expect(await textOf(page)).toContain('Sign in to decide');
    expect(await textOf(page)).toContain(`A program on this computer (${host}) asks for an API key`);
    await signIn(page);
    expect(await textOf(page)).toContain(`A program on this computer (${host}) asks for an API key`);
    expect(await textOf(page)).toContain(`The key goes to\n${app.origin()}/back?state=xyz`);
    expect(await fieldsOf(page)).toEqual({
      Workspace: 'Default',
      'Name of the key': 'Editor',
      'Limit in US dollars': '25',
      'The limit starts anew': 'every week',
      'Last day of the key (UTC)': '2099-12-31',
    });
    await page.fill('#limit', '3.5');
    await follow(page, ALLOW);
    expect(await textOf(page)).toBe('You are back.');
    const [back] = app.visits;
    expect([back?.pathname, back?.searchParams.get('state')]).toEqual(['/back', 'xyz']);
    const owner = installation.client(await keyFor(back?.searchParams.get('code') ?? null));
    const { body } = await owner.request<{ data: object }>('GET', '/key');
    await owner.close();
    expect(body.data).toMatchObject({ limit: 3.5, limit_reset: 'weekly', expires_at: '2099-12-31T23:59:59.000Z' });
  });

  it('sends its visitor back without a code when they refuse', async () => {
    const before = await agreements();
    const page = await signedIn({}, hasJavaScript);
    await follow(page, REFUSE);
    expect(app.visits.map(String)).toEqual([`${app.origin()}/back?state=xyz&error=access_denied`]);
    expect(await agreements()).toBe(before);
  });

  it('asks again for a key that is no management key, and for a limit that is none', async () => {
    const page = await visitor(hasJavaScript);
    await page.goto(address());
    await signIn(page, installation.seed.apiKey);
    expect(await textOf(page)).toContain('This is no management key that can be used.');
    await signIn(page);
    await page.fill('#limit', 'ten');
    await follow(page, ALLOW);
    expect(await textOf(page)).toContain('limit must be an amount in US dollars');
    expect(app.visits).toEqual([]);
    expect(complaints.splice(0)).toEqual([
      'Failed to load resource: the server responded with a status of 401 (Unauthorized)',
      'Failed to load resource: the server responded with a status of 400 (Bad Request)',
    ]);
  });

  it('knows its visitor until they sign out', async () => {
    const page = await signedIn({}, hasJavaScript);
    await page.goto(address());
    expect(await textOf(page)).toContain('asks for an API key');
    await follow(page, SIGN_OUT);
    expect(await textOf(page)).toContain('Sign in to decide');
    expect(await page.context().cookies()).toMatchObject([{ name: 'consent_form' }]);
  });
});

describe('the consent page in a browser', () => {
  it('shows the code where there is no way back', async () => {
    const page = await visitor();
    const url = new URL(address());
    url.searchParams.delete('callback_url');
    await page.goto(url.href);
    await signIn(page);
    expect(await textOf(page)).toContain('The key goes to\nthe program that you paste the code into');
    await follow(page, ALLOW);
    expect(await textOf(page)).toContain('Paste this code into the program');
    await keyFor(/auth_code_\w+/.exec(await textOf(page))?.[0] ?? null);
  });

  it('keeps its cookies from scripts and other sites, and the key from the browser', async () => {
    const page = await signedIn();
    const cookies = await page.context().cookies();
    expect(cookies).toMatchObject([
      { name: 'consent_session', path: '/auth', httpOnly: true, sameSite: 'Strict', secure: false },
    ]);
    expect(await page.evaluate('document.cookie')).toBe('');
    expect(await page.evaluate('document.scripts.length')).toBe(0);
    const { managementKey } = installation.seed;
    expect(JSON.stringify(cookies)).not.toContain(managementKey);
    expect(await page.content()).not.toContain(managementKey);
  });

  it('runs nothing that an app puts into its address', async () => {
    const page = await signedIn({ key_label: `"><script>document.title='broken into'</script>` });
    expect(await page.title()).toBe('Allow access · sluice');
    expect((await fieldsOf(page))['Name of the key']).toBe(`"><script>document.title='broken into'</script>`);
  });
});

describe('another site in the same browser', () => {
  /** A page that sends the form of the consent page, unchanged, in the name of its visitor. */
  async function forge(page: Page): Promise<void> {
    const form = await page.evaluate<string>(`document.querySelector('form[action="/auth"]').outerHTML`);
    app.pages.set('/forged', form.replace('action="/auth"', `action="${new URL('/auth', installation.baseUrl).href}"`));
  }

  it.each(['127.0.0.1', 'localhost'] as const)(
    'at %s agrees to nothing, although it has the whole form',
    async (host) => {
      const before = await agreements();
      const page = await signedIn();
      await forge(page);
      await page.goto(`${app.origin(host)}/forged`);
      await follow(page, ALLOW);
      expect(new URL(page.url()).pathname).toBe('/auth');
      expect(await textOf(page)).toContain('The form is not one of this page, or it is too old. Open the page again.');
      expect(complaints.splice(0)).toEqual([
        'Failed to load resource: the server responded with a status of 403 (Forbidden)',
      ]);
      expect(await agreements()).toBe(before);
      expect(app.visits.map(({ pathname }) => pathname)).toEqual(['/forged']);
      await page.goto(address());
      expect(await textOf(page)).toContain('asks for an API key');
    },
  );

  it('cannot show the page in a frame', async () => {
    const page = await signedIn();
    app.pages.set('/frame', `<iframe src="${address().replaceAll('&', '&amp;')}"></iframe>`);
    const refused: unknown[] = [];
    page.on('requestfailed', (request) => refused.push([request.url(), request.failure()?.errorText]));
    await page.goto(`${app.origin()}/frame`);
    expect(page.frames().map((frame) => frame.url())).toEqual([
      `${app.origin()}/frame`,
      'chrome-error://chromewebdata/',
    ]);
    expect(complaints.splice(0)).toEqual([expect.stringContaining(`directive: "frame-ancestors 'none'"`)]);
    expect(refused).toEqual([[address(), 'net::ERR_BLOCKED_BY_RESPONSE']]);
  });
});
