import { Browser } from '../support/browser';
import type { BrowserPage } from '../support/browser-page';
import { catalogueOf } from '../support/catalogue';
import { Installation } from '../support/installation';
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

let installation: Installation;
let browser: Browser;
let app: LoopbackSite;

beforeAll(async () => {
  browser = await Browser.start();
  app = await LoopbackSite.start();
  installation = await Installation.start({ catalogue: catalogueOf([UNUSED_MODEL]), apps: ['auth', 'gateway'] });
}, 90_000);

afterAll(async () => {
  await Promise.all([browser?.close(), app?.stop(), installation?.stop()]);
});

beforeEach(() => {
  app.visits.length = 0;
  app.pages.clear();
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

async function signIn(page: BrowserPage, key: string = installation.seed.managementKey): Promise<void> {
  await page.fill(KEY_FIELD, key);
  await page.follow(SIGN_IN);
}

async function signedIn(members: Readonly<Record<string, string>> = {}, hasJavaScript = true): Promise<BrowserPage> {
  const page = await browser.newVisitor({ hasJavaScript });
  await page.open(address(members));
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
    const page = await browser.newVisitor({ hasJavaScript });
    const asked = { limit: '25', usage_limit_type: 'weekly', expires_at: '2099-12-31T00:00:00Z', key_label: 'Editor' };
    await page.open(address(asked));
    const { host } = new URL(app.origin());
    expect(await page.text()).toContain('Sign in to decide');
    expect(await page.text()).toContain(`A program on this computer (${host}) asks for an API key`);
    await signIn(page);
    expect(await page.text()).toContain(`A program on this computer (${host}) asks for an API key`);
    expect(await page.text()).toContain(`The key goes to\n${app.origin()}/back?state=xyz`);
    expect(await page.fields()).toEqual({
      Workspace: 'Default',
      'Name of the key': 'Editor',
      'Limit in US dollars': '25',
      'The limit starts anew': 'every week',
      'Last day of the key (UTC)': '2099-12-31',
    });
    await page.fill('#limit', '3.5');
    await page.follow(ALLOW);
    expect(await page.text()).toBe('You are back.');
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
    await page.follow(REFUSE);
    expect(app.visits.map(String)).toEqual([`${app.origin()}/back?state=xyz&error=access_denied`]);
    expect(await agreements()).toBe(before);
  });

  it('asks again for a key that is no management key, and for a limit that is none', async () => {
    const page = await browser.newVisitor({ hasJavaScript });
    await page.open(address());
    await signIn(page, installation.seed.apiKey);
    expect(await page.text()).toContain('This is no management key that can be used.');
    await signIn(page);
    await page.fill('#limit', 'ten');
    await page.follow(ALLOW);
    expect(await page.text()).toContain('limit must be an amount in US dollars');
    expect(app.visits).toEqual([]);
  });

  it('knows its visitor until they sign out', async () => {
    const page = await signedIn({}, hasJavaScript);
    await page.open(address());
    expect(await page.text()).toContain('asks for an API key');
    await page.follow(SIGN_OUT);
    expect(await page.text()).toContain('Sign in to decide');
    expect(await page.cookies()).toMatchObject([{ name: 'consent_form' }]);
  });
});

describe('the consent page in a browser', () => {
  it('shows the code where there is no way back', async () => {
    const page = await browser.newVisitor();
    const url = new URL(address());
    url.searchParams.delete('callback_url');
    await page.open(url.href);
    await signIn(page);
    expect(await page.text()).toContain('The key goes to\nthe program that you paste the code into');
    await page.follow(ALLOW);
    expect(await page.text()).toContain('Paste this code into the program');
    await keyFor(/auth_code_\w+/.exec(await page.text())?.[0] ?? null);
  });

  it('keeps its cookies from scripts and other sites, and the key from the browser', async () => {
    const page = await signedIn();
    const cookies = await page.cookies();
    expect(cookies).toMatchObject([
      { name: 'consent_session', path: '/auth', httpOnly: true, sameSite: 'Strict', secure: false },
    ]);
    expect(await page.evaluate('document.cookie')).toBe('');
    expect(await page.evaluate('document.scripts.length')).toBe(0);
    const { managementKey } = installation.seed;
    expect(JSON.stringify(cookies)).not.toContain(managementKey);
    expect(await page.evaluate('document.documentElement.outerHTML')).not.toContain(managementKey);
  });

  it('runs nothing that an app puts into its address', async () => {
    const page = await signedIn({ key_label: `"><script>document.title='broken into'</script>` });
    expect(await page.evaluate('document.title')).toBe('Allow access · sluice');
    expect((await page.fields())['Name of the key']).toBe(`"><script>document.title='broken into'</script>`);
  });
});

describe('another site in the same browser', () => {
  /** A page that sends the form of the consent page, as it stands there, in the name of its visitor. */
  async function forge(page: BrowserPage): Promise<void> {
    const form = await page.evaluate<string>(`document.querySelector('form[action="/auth"]').outerHTML`);
    app.pages.set('/forged', form.replace('action="/auth"', `action="${new URL('/auth', installation.baseUrl).href}"`));
  }

  it.each(['127.0.0.1', 'localhost'] as const)(
    'at %s agrees to nothing, although it has the whole form',
    async (host) => {
      const before = await agreements();
      const page = await signedIn();
      await forge(page);
      await page.open(`${app.origin(host)}/forged`);
      await page.follow(ALLOW);
      expect(new URL(await page.address()).pathname).toBe('/auth');
      expect(await page.text()).toContain('The form is not one of this page, or it is too old. Open the page again.');
      expect(await agreements()).toBe(before);
      expect(app.visits.map(({ pathname }) => pathname)).toEqual(['/forged']);
      await page.open(address());
      expect(await page.text()).toContain('asks for an API key');
    },
  );

  it('cannot show the page in a frame', async () => {
    const page = await signedIn();
    app.pages.set('/frame', `<iframe src="${address().replaceAll('&', '&amp;')}"></iframe>`);
    await page.open(`${app.origin()}/frame`);
    expect(await page.unshownFrames()).toEqual([address()]);
  });
});
