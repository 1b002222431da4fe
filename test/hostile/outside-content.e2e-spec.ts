import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { constants, gzipSync } from 'node:zlib';
import { HttpsHost } from '@libs/platform/testing';
import { pdfBombs } from '../../apps/gateway/src/parsers/testing/pdf-bombs';
import { tinyPdf } from '../../apps/gateway/src/parsers/testing/tiny-pdf';
import { catalogueOf } from '../support/catalogue';
import type { ApiAnswer, ApiClient } from '../support/client';
import { Installation } from '../support/installation';
import { Operator } from '../support/operator';
import { Upstream } from '../support/upstream';
import { IS_FULL, report } from '../support/scale';
import { Witness } from './witness';

const MODEL = 'hostile/talker';
const MEBIBYTE = 1024 * 1024;
const BUDGET_MIB = 100;
const MOST_OF_BUDGET = 1.15;
const CALLS = IS_FULL ? 48 : 16;
const PAGES_OF_CALL = 10;
const HOLD_MS = IS_FULL ? 20_000 : 6_000;
/** Pages are given up after 20 s. */
const LONGEST_GROWTH_MS = 18_000;
const STEADY_MS = 3_000;
const STEADY_MIB = 2;
const SLOW_FILES = IS_FULL ? 40 : 16;
const SMALL_FILES = IS_FULL ? 5 : 3;
const MOST_REPEATS = 20;

/** The start of a page of 8 MiB, whose end does not come. */
const PAGE_START = gzipSync(Buffer.alloc(8 * MEBIBYTE, 'words '), { finishFlush: constants.Z_SYNC_FLUSH });

let upstream: Upstream;
let host: HttpsHost;
let installation: Installation;
let attackers: ApiClient[];
let client: ApiClient;
let folder: string;

beforeAll(async () => {
  upstream = await Upstream.start({ talks: { latencyMs: 200 } });
  host = await HttpsHost.start((_request, response) => response.end());
  folder = mkdtempSync(join(tmpdir(), 'sluice-outside-'));
  const authority = join(folder, 'authority.pem');
  writeFileSync(authority, host.certificate);
  const pricing = { prompt: '0.00000001', completion: '0.00000001' };
  installation = await Installation.start({
    catalogue: catalogueOf([
      { slug: MODEL, provider: 'hostile', baseUrl: upstream.baseUrl('talks'), pricing },
    ]).replaceAll(/"context_length": \d+/g, '"context_length": 100000000'),
    apps: ['auth', 'gateway'],
    environmentOf: {
      gateway: {
        MEMORY_BUDGET_MIB: String(BUDGET_MIB),
        EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
        NODE_EXTRA_CA_CERTS: authority,
      },
    },
  });
  const { apiKey } = await new Operator(installation).createTenant('attacker', '100');
  // A client has a bounded number of connections.
  attackers = Array.from({ length: 4 }, () => installation.client(apiKey));
  client = installation.client();
});

afterAll(async () => {
  await Promise.all([client, ...(attackers ?? [])].map((one) => one?.close()));
  await installation?.stop();
  await host?.stop();
  await upstream?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const attackerNo = (nth: number): ApiClient => attackers[nth % attackers.length]!;

function residentMib(): number {
  const status = readFileSync(`/proc/${installation.pidOf('gateway')}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1_024;
}

/** Measures the gateway until it has stopped to grow. Returns its peak. */
async function peakUntilSteady(): Promise<number> {
  const startedMs = performance.now();
  let peak = { mib: 0, ms: startedMs };
  for (let nowMs = startedMs; nowMs - startedMs < LONGEST_GROWTH_MS; nowMs = performance.now()) {
    const mib = residentMib();
    if (mib > peak.mib + STEADY_MIB) peak = { mib, ms: nowMs };
    if (nowMs - peak.ms > STEADY_MS) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return peak.mib;
}

/** A request of some hundred bytes that has pages read. */
function askForPages(from: ApiClient, nth: number): Promise<ApiAnswer> {
  const urls = Array.from({ length: PAGES_OF_CALL }, (_, page) => host.url(`/${nth}/${page}`));
  return from.chat({
    model: MODEL,
    max_tokens: 8,
    messages: [{ role: 'user', content: urls.join(' ') }],
    plugins: [{ id: 'web-fetch', max_uses: PAGES_OF_CALL }],
  });
}

function sendFile(from: ApiClient, bytes: Buffer): Promise<ApiAnswer> {
  const file = { filename: 'a.pdf', file_data: `data:application/pdf;base64,${bytes.toString('base64')}` };
  return from.chat({
    model: MODEL,
    max_tokens: 8,
    messages: [{ role: 'user', content: [{ type: 'file', file }] }],
    plugins: [{ id: 'file-parser' }],
  });
}

/** A caller that repeats a 503 after the time in `Retry-After`. */
async function sendPatiently(bytes: Buffer): Promise<{ readonly status: number; readonly repeats: number }> {
  for (let repeats = 0; ; repeats += 1) {
    const { status, headers } = await sendFile(client, bytes);
    if (status !== 503 || repeats === MOST_REPEATS) return { status, repeats };
    expect(headers['retry-after']).toBeDefined();
    await new Promise((resolve) => setTimeout(resolve, Number(headers['retry-after']) * 1_000));
  }
}

describe('content from outside', () => {
  it('stays within the budget while a tenant has many large pages read, and others are served', async () => {
    const open = new Set<ServerResponse>();
    host.answerWith((_request, response) => {
      open.add(response.on('close', () => open.delete(response)));
      response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' }).write(PAGE_START);
    });
    const witness = new Witness(client, MODEL, new URL(installation.baseUrl).origin);
    await witness.watch(3_000);
    const restMib = residentMib();
    const calls = Array.from({ length: CALLS }, (_, nth) => askForPages(attackerNo(nth), nth));
    const [served, peakMib] = await Promise.all([witness.watch(HOLD_MS), peakUntilSteady()]);
    host.answerWith((_request, response) => response.end('Late.'));
    for (const response of open) response.destroy();
    const statuses = (await Promise.all(calls)).map(({ status }) => status);
    const growthMib = Math.round(peakMib - restMib);
    report({ what: 'pages', CALLS, BUDGET_MIB, restMib: Math.round(restMib), growthMib, statuses, served });
    expect(served.failures).toEqual({});
    expect(served.callsPerSecond).toBeGreaterThan(0);
    expect(growthMib).toBeLessThan(BUDGET_MIB * MOST_OF_BUDGET);
    expect(new Set(statuses)).toEqual(new Set([200]));
  });

  it('is read for a tenant while the files of another keep every parser busy', async () => {
    const slow = pdfBombs().find(({ name }) => name === 'forms that draw each other')!;
    let isOver = false;
    const statuses = new Set<number>();
    const attacks = Array.from({ length: SLOW_FILES }, async (_, nth) => {
      while (!isOver) statuses.add((await sendFile(attackerNo(nth), slow.bytes)).status);
    });
    const answers = [];
    try {
      for (let nth = 0; nth < SMALL_FILES; nth += 1) answers.push(await sendPatiently(tinyPdf([`Page ${nth}`])));
    } finally {
      isOver = true;
      await Promise.all(attacks);
    }
    report({ what: 'slow files', SLOW_FILES, statuses: [...statuses], answers });
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect([...statuses].filter((status) => status !== 400 && status !== 503)).toEqual([]);
  });
});
