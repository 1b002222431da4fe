import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { catalogueOf } from '../support/catalogue';
import type { ApiClient } from '../support/client';
import { Installation } from '../support/installation';
import { Operator, type Tenant } from '../support/operator';
import { Upstream } from '../support/upstream';
import { keepSending, type ChunkedBody } from './chunked-bodies';
import { IS_FULL, report } from '../support/scale';
import { Witness } from './witness';

const MODEL = 'hostile/talker';
/** Its answers take long enough that all bodies of a test are held at once. */
const SLOW_MODEL = 'hostile/thinker';
const MEBIBYTE = 1024 * 1024;
const BODY_BYTES = 30 * MEBIBYTE;
const CONNECTIONS = IS_FULL ? 100 : 20;
const BUDGET_MIB = 400;
const MOST_OF_BUDGET = 1.15;
const HOLD_MS = IS_FULL ? 20_000 : 4_000;

let upstream: Upstream;
let installation: Installation;
let operator: Operator;
let attacker: Tenant;
let others: readonly Tenant[];
let poor: Tenant;
let client: ApiClient;
let witness: Witness;
/** Before any heavy body; what the process does not give back to the system counts against the budget as well. */
let restBytes: number;

beforeAll(async () => {
  upstream = await Upstream.start({ talks: { latencyMs: 200 }, thinks: { latencyMs: 8_000 } });
  const pricing = { prompt: '0.00000001', completion: '0.00000001' };
  installation = await Installation.start({
    // Such prompts are sent on, and answered.
    catalogue: catalogueOf([
      { slug: MODEL, provider: 'hostile', baseUrl: upstream.baseUrl('talks'), pricing },
      { slug: SLOW_MODEL, provider: 'slow', baseUrl: upstream.baseUrl('thinks'), pricing },
    ]).replaceAll(/"context_length": \d+/g, '"context_length": 100000000'),
    apps: ['auth', 'gateway'],
    environmentOf: { gateway: { MEMORY_BUDGET_MIB: String(BUDGET_MIB) } },
  });
  operator = new Operator(installation);
  // All of them here: an operator's command has a time limit, which a flooded machine may exceed.
  attacker = await operator.createTenant('attacker', '100');
  others = await Promise.all(['one', 'two', 'three'].map((name) => operator.createTenant(name, '100')));
  poor = await operator.createTenant('poor', null);
  client = installation.client();
  witness = new Witness(client, MODEL, new URL(installation.baseUrl).origin);
  await witness.watch(3_000);
  restBytes = residentBytes();
});

afterAll(async () => {
  await client?.close();
  await installation?.stop();
  await upstream?.stop();
});

function residentBytes(): number {
  const status = readFileSync(`/proc/${installation.pidOf('gateway')}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

/** The most that the gateway takes while something goes on. */
async function peakDuring(act: () => Promise<void>): Promise<number> {
  let peak = 0;
  const timer = setInterval(() => (peak = Math.max(peak, residentBytes())), 50);
  try {
    await act();
  } finally {
    clearInterval(timer);
  }
  return peak;
}

const PIECE = Buffer.alloc(64 * 1024, 'x');

interface HeavyCall {
  readonly socket: Socket;
  /** Of the answer; 0 without one. */
  readonly status: Promise<number>;
}

/** A chat completion with 30 MiB of text; `isWhole` false leaves its last bytes out. */
function heavyCall(key: string, isWhole: boolean): HeavyCall {
  const { hostname, port } = new URL(installation.baseUrl);
  const socket = connect(Number(port), hostname);
  const start = `{"model":"${MODEL}","max_tokens":8,"messages":[{"role":"user","content":"`;
  const end = '"}]}';
  const pieces = Math.floor((BODY_BYTES - start.length - end.length) / PIECE.length);
  const length = start.length + pieces * PIECE.length + end.length;
  const lines = [
    'POST /api/v1/chat/completions HTTP/1.1',
    'Host: gateway',
    'Content-Type: application/json',
    `Authorization: Bearer ${key}`,
    `Content-Length: ${length}`,
  ];
  const status = new Promise<number>((resolve) => {
    socket.on('data', (data: Buffer) => resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(data.toString('latin1'))?.[1])));
    socket.on('error', () => resolve(0)).on('close', () => resolve(0));
  });
  let sent = 0;
  const send = (): void => {
    while (socket.writable && sent < pieces) {
      sent += 1;
      if (!socket.write(PIECE)) return;
    }
    if (sent === pieces && isWhole) {
      sent += 1;
      socket.write(end);
    }
  };
  socket.on('drain', send);
  socket.on('connect', () => {
    socket.write(`${lines.join('\r\n')}\r\n\r\n${start}`);
    send();
  });
  return { socket, status };
}

/** Of the attacker's chat completion with this body. */
async function statusOf(body: string): Promise<number> {
  const headers = { authorization: `Bearer ${attacker.apiKey}`, 'content-type': 'application/json' };
  const response = await fetch(`${installation.baseUrl}/chat/completions`, { method: 'POST', headers, body });
  await response.arrayBuffer();
  return response.status;
}

async function expectBounded(what: string, keyOf: (nth: number) => string, isWhole: boolean): Promise<void> {
  const calls: HeavyCall[] = [];
  const statuses: number[] = [];
  let served = await witness.watch(0);
  const peakBytes = await peakDuring(async () => {
    for (let nth = 0; nth < CONNECTIONS; nth += 1) {
      const call = heavyCall(keyOf(nth), isWhole);
      calls.push(call);
      void call.status.then((status) => statuses.push(status));
    }
    served = await witness.watch(HOLD_MS);
    if (isWhole) await Promise.all(calls.map(({ status }) => status));
    for (const { socket } of calls) socket.destroy();
  });
  const growthMib = Math.round((peakBytes - restBytes) / MEBIBYTE);
  const counts = Object.fromEntries(
    [...new Set(statuses)].map((one) => [one, statuses.filter((s) => s === one).length]),
  );
  report({ what, CONNECTIONS, BUDGET_MIB, restMib: Math.round(restBytes / MEBIBYTE), growthMib, counts, served });
  expect(served.failures).toEqual({});
  expect(served.callsPerSecond).toBeGreaterThan(0);
  expect(served.healthStatuses).toEqual([200]);
  expect(growthMib).toBeLessThan(BUDGET_MIB * MOST_OF_BUDGET);
}

describe('the memory of a gateway', () => {
  it('stays within its budget while a tenant sends bodies of 30 MiB and stops before their end', async () => {
    await expectBounded('unfinished', () => attacker.apiKey, false);
  });

  it('stays within its budget while a tenant sends whole bodies of 30 MiB', async () => {
    await expectBounded('whole', () => attacker.apiKey, true);
  }, 300_000);

  it('stays within its budget while several tenants do', async () => {
    await expectBounded('several tenants', (nth) => others[nth % 3]!.apiKey, true);
  }, 300_000);

  it('stays within its budget while a tenant sends bodies that grow when they are parsed', async () => {
    const values = `[${Array.from({ length: 1_900 }, () => `${'{"9":'.repeat(52)}0${'}'.repeat(52)}`).join(',')}]`;
    const body = `{"model":"${SLOW_MODEL}","max_tokens":8,"messages":[{"role":"user","content":"hi"}],"usage":${values}}`;
    const statuses: number[] = [];
    const startBytes = residentBytes();
    let served = await witness.watch(0);
    const peakBytes = await peakDuring(async () => {
      const calls = Array.from({ length: 8 * CONNECTIONS }, async () => statuses.push(await statusOf(body)));
      served = await witness.watch(HOLD_MS);
      await Promise.all(calls);
    });
    const growthMib = Math.round((peakBytes - startBytes) / MEBIBYTE);
    report({ what: 'growing', bodyMib: body.length / MEBIBYTE, calls: statuses.length, growthMib, served });
    // 408: on a busy machine, bodies arrive more slowly than a gateway waits for them.
    expect(statuses.filter((status) => ![200, 408, 503].includes(status))).toEqual([]);
    expect(statuses).toEqual(expect.arrayContaining([200, 503]));
    expect(served.failures).toEqual({});
    expect(served.healthStatuses).toEqual([200]);
    expect(peakBytes - restBytes).toBeLessThan(BUDGET_MIB * MOST_OF_BUDGET * MEBIBYTE);
  });

  it('stays small while a stranger sends forms in chunks of one byte', async () => {
    const startBytes = residentBytes();
    let served = await witness.watch(0);
    const peakBytes = await peakDuring(async () => {
      const headers = ['Content-Type: application/x-www-form-urlencoded'];
      const stop = keepSending(64, {
        baseUrl: installation.baseUrl,
        path: '/oauth/token',
        headers,
        start: 'a=',
        bytes: 30_000,
        chunkBytes: 1,
      });
      served = await witness.watch(HOLD_MS);
      stop();
    });
    const growthMib = Math.round((peakBytes - startBytes) / MEBIBYTE);
    report({ what: 'forms in tiny chunks', growthMib, served });
    expect(served.failures).toEqual({});
    expect(served.healthStatuses).toEqual([200]);
    expect(growthMib).toBeLessThan(150);
  });

  it.each([1, 64])(
    'stays within its budget while a tenant sends bodies and forms in %i-byte chunks',
    async (chunkBytes) => {
      const key = `Authorization: Bearer ${attacker.apiKey}`;
      const chat: ChunkedBody = {
        baseUrl: installation.baseUrl,
        path: '/chat/completions',
        headers: ['Content-Type: application/json', key],
        start: `{"model":"${MODEL}","messages":[{"role":"user","content":"`,
        bytes: 2 * MEBIBYTE * chunkBytes,
        chunkBytes,
      };
      const recording: ChunkedBody = {
        ...chat,
        path: '/audio/transcriptions',
        headers: ['Content-Type: multipart/form-data; boundary=b', key],
        start: `--b\r\nContent-Disposition: form-data; name="file"; filename="a.mp3"\r\n\r\nID3`,
      };
      let served = await witness.watch(0);
      const peakBytes = await peakDuring(async () => {
        const stops = [keepSending(3, chat), keepSending(3, recording)];
        served = await witness.watch(IS_FULL ? 45_000 : 4_000);
        for (const stop of stops) stop();
      });
      const growthMib = Math.round((peakBytes - restBytes) / MEBIBYTE);
      report({ what: `chunks of ${chunkBytes} bytes`, growthMib, served });
      expect(served.failures).toEqual({});
      expect(served.healthStatuses).toEqual([200]);
      expect(growthMib).toBeLessThan(BUDGET_MIB * MOST_OF_BUDGET);
    },
    120_000,
  );

  it('refuses a body of more values than requests have', async () => {
    const body = `{"model":"${MODEL}","messages":[],"usage":[${'{},'.repeat(200_000)}0]}`;
    let status = 503;
    // Until memory that the tests before took is given back.
    while (status === 503) status = await statusOf(body);
    expect(status).toBe(400);
  });

  it('takes nothing of a tenant that can pay for nothing', async () => {
    const startBytes = residentBytes();
    const peakBytes = await peakDuring(async () => {
      const calls = Array.from({ length: CONNECTIONS }, () => heavyCall(poor.apiKey, true));
      const statuses = await Promise.all(calls.map(({ status }) => status));
      for (const { socket } of calls) socket.destroy();
      expect(new Set(statuses)).toEqual(new Set([402]));
    });
    const growthMib = Math.round((peakBytes - startBytes) / MEBIBYTE);
    report({ what: 'no credits', CONNECTIONS, growthMib });
    expect(growthMib).toBeLessThan(BUDGET_MIB / 2);
  });
});
