import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { root } from '../../scripts/checkout';
import { startSandbox, type Sandbox } from '../../tools/sandbox-provider/src/start-sandbox';
import { boxesOf, samplesOf } from '../../tools/sandbox-provider/src/testing/mp4-samples';
import { runProgram } from '../clients/agents/run-program';
import { fencesOf, readMarkdown } from '../docs/markdown';
import { startBrowser } from '../support/browser';
import { eventually } from '../support/eventually';
import { Installation } from '../support/installation';

/** What a new user tries after reading the README and guides, with the sandbox's own catalogue: the same requests, and real answers. */

const SANDBOX_KEY = 'a-key-of-the-sandbox';
const PATIENCE_MS = 30_000;

const readme = readFileSync(join(root, 'README.md'), 'utf8');
const commands = readme.split('\n').filter((line) => line.includes('curl '));
const commandOf = (path: string): string => commands.find((line) => line.includes(`8080/api/v1${path}`))!;

let sandbox: Sandbox;
let installation: Installation;

beforeAll(async () => {
  sandbox = await startSandbox({ apiKey: SANDBOX_KEY });
  const catalogue = readFileSync(join(root, 'catalog/sandbox.yaml'), 'utf8');
  installation = await Installation.start({
    apps: ['auth', 'gateway', 'video-worker'],
    catalogue: catalogue.replaceAll('http://127.0.0.1:4010', sandbox.url),
    environment: { SANDBOX_API_KEY: SANDBOX_KEY },
  });
}, 240_000);

afterAll(async () => {
  await installation?.stop();
  await sandbox?.close();
}, 240_000);

const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${installation.baseUrl}${path}`, {
    ...init,
    headers: { authorization: `Bearer ${installation.seed.apiKey}`, ...init.headers },
  });

/** Plays a film to its end in a headless Chromium. @throws Error with the browser's reason where it does not play */
async function played(film: Buffer): Promise<unknown> {
  const browser = await startBrowser();
  try {
    const page = await browser.newPage();
    return await page.evaluate(`new Promise((resolve, reject) => {
      const video = document.createElement('video');
      video.muted = true;
      video.onended = () =>
        resolve({ seconds: video.duration, width: video.videoWidth, height: video.videoHeight });
      video.onerror = () => reject(new Error(video.error.message));
      video.src = 'data:video/mp4;base64,${film.toString('base64')}';
      video.play().catch(reject);
    })`);
  } finally {
    await browser.close();
  }
}

describe('a new user', () => {
  it('hears what is said in the recording', async () => {
    const command = commandOf('/audio/transcriptions');
    const recording = await fetch(`${sandbox.url}${/4010(\/\S+)/.exec(command)![1]}`);
    expect([recording.status, recording.headers.get('content-type')]).toEqual([200, 'audio/wav']);
    const form = new FormData();
    form.set('model', /-F model=(\S+)/.exec(command)![1]!);
    form.set('file', await recording.blob(), /filename=([\w.]+)/.exec(command)![1]!);
    const answer = await ask('/audio/transcriptions', { method: 'POST', body: form });
    expect(answer.status).toBe(200);
    const { text, usage } = (await answer.json()) as { text: string; usage: { seconds: number; cost: number } };
    expect(text).toBe('[sandbox] SLUICE CAN HEAR YOU');
    expect(usage.cost).toBeCloseTo(usage.seconds * 0.00001, 9);
  });

  it('gets a film that plays', async () => {
    const body = /-d '([^']+)'/.exec(commandOf('/videos '))![1]!;
    const { duration } = JSON.parse(body) as { duration: number };
    const headers = { 'content-type': 'application/json' };
    const { id } = (await (await ask('/videos', { method: 'POST', headers, body })).json()) as { id: string };
    const content = commandOf('/videos/')
      .match(/8080\/api\/v1(\/videos\/\S+?)"/)![1]!
      .replace('$id', id);
    const film = await eventually('the film is there', PATIENCE_MS, async () => {
      const answer = await ask(content);
      if (answer.status === 409) return delay(200).then(() => undefined);
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'video/mp4']);
      return Buffer.from(await answer.arrayBuffer());
    });
    expect(boxesOf(film).map(({ name }) => name)).toEqual(['ftyp', 'moov', 'mdat']);
    expect(samplesOf(film)).toHaveLength(duration * 10);
    expect(await played(film)).toEqual({ seconds: duration, width: 160, height: 90 });
  });
});

/** Runs the commands of a guide in a POSIX shell. Only the address, the keys and what a guide leaves open are changed. */
async function follow(guide: string, changes: Readonly<Record<string, string>> = {}): Promise<string> {
  const { baseUrl, seed } = installation;
  const keyOf = (name: string): string => `$(node -p "require('./.sluice/dev.json').${name}")`;
  const setting = {
    'http://127.0.0.1:8080/api/v1': baseUrl,
    [keyOf('api_key')]: seed.apiKey,
    [keyOf('management_key')]: seed.managementKey,
    ...changes,
  };
  const blocks = fencesOf(readMarkdown(`docs/ways/${guide}.md`)).filter(({ language }) => language === 'sh');
  const shown = blocks.map(({ text }) => text).join('\n');
  const script = Object.entries(setting).reduce((text, [from, to]) => text.replaceAll(from, to), shown);
  const ran = await runProgram('sh', ['-euc', script], {
    folder: root,
    environment: { PATH: process.env.PATH },
    timeoutMs: PATIENCE_MS,
  });
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  return ran.stdout;
}

describe('a guide', () => {
  it('gives teams workspaces, budgets and keys', async () => {
    const said = await follow('teams-with-budgets');
    expect(said).not.toContain('"error"');
    const headers = { authorization: `Bearer ${installation.seed.managementKey}` };
    const { data } = (await (await ask('/workspaces', { headers })).json()) as { data: { id: string; slug: string }[] };
    expect(data.map(({ slug }) => slug)).toEqual(expect.arrayContaining(['search', 'support', 'research']));
    const { id } = data.find(({ slug }) => slug === 'search')!;
    const budgets = await (await ask(`/workspaces/${id}/budgets`, { headers })).json();
    expect(budgets).toMatchObject({ data: [{ limit_usd: 50, reset_interval: 'monthly' }] });
    const keys = await (await ask(`/keys?workspace_id=${id}`, { headers })).json();
    expect(keys).toMatchObject({ data: [{ name: 'search service', limit: 20, limit_reset: 'monthly' }] });
  });

  it('shows what became of a slow call', async () => {
    const body = JSON.stringify({ model: 'sandbox/chat', messages: [{ role: 'user', content: 'Hello!' }] });
    const answer = await ask('/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    const said = await follow('one-slow-call', {
      'gen-…': answer.headers.get('x-generation-id')!,
      'grep req-… .sluice/logs/gateway.log': ':',
    });
    expect(said).toMatch(/"latency":\d+,"generation_time":\d+/);
    expect(said).toContain('"sluice_metadata":');
  });
});
