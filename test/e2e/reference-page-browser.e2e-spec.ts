import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { root, stateFolder } from '../../scripts/checkout';
import { startBrowser } from '../support/browser';
import { catalogueOf } from '../support/catalogue';
import type { Installation } from '../support/installation';
import { giveBack, shareInstallation } from '../support/shared-installations';

const DOCUMENT = join(root, 'apps/gateway/src/openapi/openapi.json');
/** The picture that the test leaves for readers. */
const SCREENSHOT = join(stateFolder, 'browser/reference-page.png');
/** A catalogue is not empty; no test here calls a model. */
const UNUSED_MODEL = {
  slug: 'reference/talker',
  provider: 'reference-talk',
  baseUrl: 'http://127.0.0.1:1/v1',
  pricing: { prompt: '0', completion: '0' },
};

let installation: Installation;
let browser: Browser;
let page: Page;
const requested: string[] = [];
const complaints: string[] = [];

beforeAll(async () => {
  browser = await startBrowser();
  installation = await shareInstallation({ catalogue: catalogueOf([UNUSED_MODEL]), apps: ['auth', 'gateway'] });
  page = await browser.newPage({ viewport: { width: 1280, height: 1000 } });
  page.on('request', (request) => requested.push(request.url()));
  page.on('pageerror', ({ message }) => complaints.push(message));
  page.on('console', (message) => complaints.push(message.text()));
  await page.goto(new URL('/docs', installation.baseUrl).href);
  await page.waitForSelector('.opblock');
}, 240_000);

afterAll(async () => {
  await Promise.all([browser?.close(), giveBack(installation)]);
});

describe('the reference page in a browser', () => {
  it('shows every operation of the document', async () => {
    const { paths } = JSON.parse(readFileSync(DOCUMENT, 'utf8')) as { paths: Record<string, Record<string, object>> };
    const operations = Object.values(paths).flatMap((methods) => Object.keys(methods));
    expect(await page.locator('.opblock').count()).toBe(operations.length);
    expect(await page.innerText('body')).toContain('Complete a chat');
  });

  it('shows the example and the errors of an operation that is opened', async () => {
    await page.locator('.opblock', { hasText: 'Complete a chat' }).locator('.opblock-summary-control').click();
    const opened = page.locator('.opblock.is-open');
    await opened.locator('.responses-table').first().waitFor();
    expect(await opened.innerText()).toContain('"sandbox/chat"');
    expect(await opened.innerText()).toContain('rate_limit_exceeded');
  });

  it.each(['/api/v1/openapi.json', '/docs/swagger-ui-bundle.js'])('says how long %s is without it', async (path) => {
    const url = new URL(path, installation.baseUrl);
    const [whole, head] = [await fetch(url), await fetch(url, { method: 'HEAD' })];
    expect(Number(head.headers.get('content-length'))).toBe((await whole.arrayBuffer()).byteLength);
  });

  it('looks like a page: a picture of it has text in many places', async () => {
    mkdirSync(join(stateFolder, 'browser'), { recursive: true });
    const picture = await page.screenshot({ path: SCREENSHOT });
    // A blank window of this size is a PNG of about 6 kB.
    expect(picture.length).toBeGreaterThan(40_000);
  });

  it('loads from the gateway only, and breaks no rule of its content security policy', () => {
    const { origin } = new URL(installation.baseUrl);
    expect(requested.length).toBeGreaterThan(3);
    expect(requested.filter((url) => !url.startsWith(`${origin}/`) && !url.startsWith('data:'))).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('has an origin of its own, and reads no cookie of the gateway', async () => {
    expect(await page.evaluate('window.origin')).toBe('null');
    await expect(page.evaluate('document.cookie')).rejects.toThrow('sandboxed');
  });

  it('sends a request that a reader tries, and shows the answer', async () => {
    const opened = page.locator('.opblock.is-open');
    await opened.locator('.try-out__btn').click();
    await opened.locator('.execute').click();
    const answer = opened.locator('.live-responses-table');
    await answer.waitFor();
    expect(await answer.innerText()).toContain('401');
  });
});
