import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeUpstream } from '@libs/inference/testing';
import { HttpsHost } from '@libs/platform/testing';
import { harmlessPdfs, pdfBombs, type PdfBomb } from '../../apps/gateway/src/parsers/testing/pdf-bombs';
import { tinyPdf } from '../../apps/gateway/src/parsers/testing/tiny-pdf';
import { htmlBombs, jsonBombs } from '../../apps/gateway/src/parsers/testing/text-bombs';
import { expectRefusal } from '../e2e/refusals';
import { catalogueOf } from '../support/catalogue';
import type { ApiAnswer, ApiClient } from '../support/client';
import { eventually } from '../support/eventually';
import { Installation } from '../support/installation';
import { turnsBy, type TurnScript } from '../support/turn-scripts';
import { childrenOf, TreeMeter } from './process-tree';

type Json = Readonly<Record<string, unknown>>;

const MOST_GROWTH_MIB = 64;
/** Processor time of the gateway and its children: other work on the machine does not count. */
const MOST_CPU_MS = 5_000;

let upstream: FakeUpstream;
let host: HttpsHost;
let installation: Installation;
let client: ApiClient;
let folder: string;
let turns: readonly TurnScript[];
let asked: string[];

const report: string[] = [];

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.behaviour = (response, request) => {
    asked.push(request.body);
    turnsBy(() => turns[Math.min(asked.length, turns.length) - 1]!)(response, request);
  };
  host = await HttpsHost.start((_request, response) => response.end());
  folder = mkdtempSync(join(tmpdir(), 'sluice-bombs-'));
  const authority = join(folder, 'authority.pem');
  writeFileSync(authority, host.certificate);
  installation = await Installation.start({
    catalogue: catalogueOf([
      {
        slug: 'bombs/chat',
        provider: 'bombs',
        baseUrl: `${upstream.origin}/chat/v1`,
        protocol: 'openai',
        apis: ['chat'],
        pricing: { prompt: '0.000000123', completion: '0.000000457' },
      },
    ]),
    apps: ['auth', 'gateway'],
    environmentOf: { gateway: { EGRESS_ALLOW_CIDRS: '127.0.0.0/8', NODE_EXTRA_CA_CERTS: authority } },
  });
  client = installation.client();
});

afterAll(async () => {
  process.stdout.write(`${report.join('\n')}\n`);
  await client?.close();
  await installation?.stop();
  await host?.stop();
  await upstream?.close();
  rmSync(folder, { recursive: true, force: true });
});

beforeEach(async () => {
  asked = [];
  turns = [{ text: 'Fine.' }];
  // The pool is warm, so that a test measures what its file takes and not what a child takes to start.
  expect((await sendFile(tinyPdf(['warm']))).status).toBe(200);
  asked = [];
});

const chat = (members: Json): Promise<ApiAnswer<Json>> =>
  client.request<Json>('POST', '/chat/completions', { model: 'bombs/chat', ...members });

function sendFile(bytes: Buffer): Promise<ApiAnswer<Json>> {
  const file = { filename: 'a.pdf', file_data: `data:application/pdf;base64,${bytes.toString('base64')}` };
  return chat({
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Read.' },
          { type: 'file', file },
        ],
      },
    ],
    plugins: [{ id: 'file-parser' }],
  });
}

const fetchPage = (): Promise<ApiAnswer<Json>> => {
  const call = { id: 'call_1', name: 'web_fetch', arguments: JSON.stringify({ url: host.url('/page') }) };
  turns = [{ calls: [call] }, { text: 'Done.' }];
  return client.request<Json>('POST', '/responses', {
    model: 'bombs/chat',
    input: 'Read it.',
    tools: [{ type: 'sluice:web_fetch' }],
  });
};

const serve = (type: string, body: string | Buffer): void =>
  host.answerWith((_request, response) => response.writeHead(200, { 'content-type': type }).end(body));

/** Runs work and expects no more processor time and memory of the gateway and its children than is allowed. */
async function expectBounded<T>(name: string, work: () => Promise<T>): Promise<T> {
  const meter = new TreeMeter(installation.pidOf('gateway'));
  const value = await work();
  const { growthMib, cpuMs } = meter.stop();
  report.push(`${name}: ${growthMib.toFixed(1)} MiB, ${cpuMs} ms`);
  expect(growthMib).toBeLessThanOrEqual(MOST_GROWTH_MIB);
  expect(cpuMs).toBeLessThanOrEqual(MOST_CPU_MS);
  return value;
}

describe('files and pages that are bombs', () => {
  it.each(pdfBombs())(
    'gets 400 naming the file for a PDF with $name',
    async ({ name, bytes }) => {
      const answer = await expectBounded(`file, ${name}`, () => sendFile(bytes));
      expectRefusal(answer, 400);
      expect(answer.body).toMatchObject({
        error: {
          message: expect.stringMatching(/^messages\[0\]\.content\[1\]: The PDF file cannot be read: /),
          metadata: { param: 'messages[0].content[1]' },
        },
      });
      expect(asked).toEqual([]);
    },
    60_000,
  );

  it.each(harmlessPdfs())(
    'answers a PDF with $name',
    async ({ name, bytes }) => {
      const answer = await expectBounded(`file, ${name}`, () => sendFile(bytes));
      expect(answer.status).toBe(200);
    },
    60_000,
  );

  it.each(pdfBombs().slice(0, 2))(
    'says to the model that a fetched PDF with $name cannot be read',
    async (bomb: PdfBomb) => {
      serve('application/pdf', bomb.bytes);
      const answer = await expectBounded(`web_fetch, ${bomb.name}`, fetchPage);
      expect(answer.status).toBe(200);
      expect(answer.body['output']).toMatchObject([
        { type: 'sluice:web_fetch', error: expect.stringContaining('The PDF file cannot be read: ') },
        { type: 'message' },
      ]);
    },
    60_000,
  );

  it.each(htmlBombs())(
    'bounds a fetched page with $name',
    async ({ name, text, isRefused }) => {
      serve('text/html', text);
      const answer = await expectBounded(`web_fetch, ${name}`, fetchPage);
      expect(answer.status).toBe(200);
      const error = { error: expect.stringContaining('The page cannot be read: ') };
      expect(answer.body['output']).toMatchObject([isRefused ? error : { content: expect.any(String) }, {}]);
    },
    60_000,
  );

  it.each(jsonBombs())(
    'repairs or leaves alone an answer with $name',
    async ({ name, text }) => {
      turns = [{ text }];
      const plugins = [{ id: 'response-healing' }];
      const wish = { messages: [{ role: 'user', content: 'Q' }], plugins, response_format: { type: 'json_object' } };
      const answer = await expectBounded(`answer, ${name}`, () => chat(wish));
      expect(answer.status).toBe(200);
      const [choice] = answer.body['choices'] as { message: { content: string } }[];
      if (choice!.message.content !== text) expect(JSON.parse(choice!.message.content)).toBeInstanceOf(Object);
    },
    60_000,
  );

  it('reads the files of others while a bomb is read, and after its child was killed', async () => {
    const [bomb] = pdfBombs();
    const answers = await Promise.all([sendFile(bomb!.bytes), sendFile(tinyPdf(['One'])), sendFile(tinyPdf(['Two']))]);
    expect(answers.map(({ status }) => status)).toEqual([400, 200, 200]);
    const [child] = childrenOf(installation.pidOf('gateway'));
    process.kill(child!, 'SIGKILL');
    expect((await sendFile(tinyPdf(['Three']))).status).toBe(200);
    expect(asked.join()).toContain('Three');
    expect(installation.deathsOf('gateway')).toBe(0);
  });

  it('leaves no child behind when the gateway is killed', async () => {
    const children = childrenOf(installation.pidOf('gateway'));
    expect(children.length).toBeGreaterThan(0);
    await installation.kill9('gateway');
    await eventually('the children end', 60_000, () =>
      children.some((pid) => existsSync(`/proc/${pid}`)) ? undefined : true,
    );
  });
});
