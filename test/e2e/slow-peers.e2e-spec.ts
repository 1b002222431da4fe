import { setTimeout as delay } from 'node:timers/promises';
import { FakeUpstream, type Behaviour } from '@libs/inference/testing';
import { LedgerRepository } from '@libs/persistence';
import { chatRequests, linesOf } from '../support/batch-lines';
import { catalogueOf } from '../support/catalogue';
import type { Installation } from '../support/installation';
import { giveBack, shareInstallation } from '../support/shared-installations';
import { eventsOf, openStream } from './event-stream';
import { bytesOf, exchange, open, write, type RawAnswer } from './raw-http';
import { expectRefusal } from './refusals';
import { settledGeneration, type StoredGeneration } from './stored-generation';
import { countRows } from '../support/stored-rows';

const PRICES = { prompt: '0.000000123', completion: '0.000000457' };
const messages = [{ role: 'user', content: 'Say something please.' }];
const TAKES_A_MINUTE = 80_000;
const UNREAD_FOR_MS = 66_000;

const START =
  'data: {"id":"up-1","object":"chat.completion.chunk","created":1,"model":"theirs",' +
  '"choices":[{"index":0,"delta":{"content":"Something "},"finish_reason":null}]}\n\n';

/** More than the sockets between gateway and caller buffer. */
const LARGE = JSON.stringify({
  id: 'up-1',
  object: 'chat.completion',
  created: 1,
  model: 'theirs',
  choices: [{ index: 0, message: { role: 'assistant', content: 'x'.repeat(24 * 1024 * 1024) }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
});

/** By the first part of the path, which is the provider. The slow ones begin, and do not go on. */
const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  stalled: (response) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).write(START),
  half: (response) => void response.writeHead(200, { 'content-type': 'application/json' }).write('{"id":"up-1","choi'),
  large: (response) => void response.writeHead(200, { 'content-type': 'application/json' }).end(LARGE),
};

/** What each slow peer came to. They are slow at the same time, because each takes a minute. */
interface Outcomes {
  readonly head: { readonly closedAfterMs: number; readonly received: string };
  readonly bodies: readonly RawAnswer[];
  readonly stream: {
    readonly text: string;
    readonly firstCommentMs: number;
    readonly tookMs: number;
    readonly row: StoredGeneration;
  };
  readonly answer: RawAnswer & { readonly row: StoredGeneration };
  readonly unread: { readonly announced: number; readonly received: number };
}

let upstream: FakeUpstream;
let installation: Installation;
let outcomes: Outcomes;
let before: Awaited<ReturnType<typeof countRows>>;

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.behaviour = (response, request) => BEHAVIOURS[request.path.split('/')[1]!]!(response, request);
  const models = Object.keys(BEHAVIOURS).map((name) => ({
    slug: `slow/${name}`,
    provider: `slow-${name}`,
    baseUrl: `${upstream.origin}/${name}/v1`,
    pricing: PRICES,
  }));
  installation = await shareInstallation({ catalogue: catalogueOf(models), apps: ['auth', 'gateway'] });
  before = await countRows(installation.database);
  const chat = JSON.stringify({ model: 'slow/stalled', messages });
  const batch = JSON.stringify({
    endpoint: '/v1/chat/completions',
    model: 'slow/stalled',
    requests: chatRequests(linesOf('slow', 2)),
  });
  const bodies = Promise.all([
    halfOf(requestTo('/chat/completions', chat)),
    halfOf(requestTo('/batches', batch)),
    halfOf(requestTo('/keys', '{"name":"slow"}', installation.seed.managementKey)),
  ]);
  const [head, stream, answer, unread] = await Promise.all([dripHead(), stalledStream(), halfAnswer(), unreadAnswer()]);
  outcomes = { head, bodies: await bodies, stream, answer, unread };
}, 90_000 + TAKES_A_MINUTE);

afterAll(async () => {
  await giveBack(installation);
  await upstream?.close();
});

function requestTo(path: string, body: string, key = installation.seed.apiKey): Buffer {
  return bytesOf({
    method: 'POST',
    target: `/api/v1${path}`,
    headers: [
      ['Host', 'gateway'],
      ['Authorization', `Bearer ${key}`],
      ['Content-Type', 'application/json'],
      ['Content-Length', String(Buffer.byteLength(body))],
    ],
    body,
  });
}

/** A part of a body arrives, and then nothing more. */
const halfOf = (request: Buffer): Promise<RawAnswer> =>
  exchange(installation.baseUrl, request.subarray(0, request.length - 8));

/** A head that never ends, a byte every two seconds. */
async function dripHead(): Promise<Outcomes['head']> {
  const socket = await open(installation.baseUrl);
  const startedMs = performance.now();
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const bytes = requestTo('/chat/completions', '{}');
  for (let at = 0; at < 80 && (await write(socket, bytes.subarray(at, at + 1))); at += 1) {
    await Promise.race([delay(2_000), closed]);
  }
  await closed;
  return { closedAfterMs: performance.now() - startedMs, received };
}

async function stalledStream(): Promise<Outcomes['stream']> {
  const startedMs = performance.now();
  const body = { model: 'slow/stalled', messages, stream: true };
  const stream = await openStream(installation.baseUrl, '/chat/completions', installation.seed.apiKey, body);
  let firstCommentMs = Number.POSITIVE_INFINITY;
  for (let piece = await stream.next(); piece !== null; piece = await stream.next()) {
    if (piece.startsWith(':')) firstCommentMs = Math.min(firstCommentMs, performance.now() - startedMs);
  }
  const row = await settledGeneration(installation.database, stream.headers.get('x-generation-id')!);
  return { text: await stream.rest(), firstCommentMs, tookMs: performance.now() - startedMs, row };
}

/** Asks for a long answer and reads nothing for longer than the gateway waits. */
async function unreadAnswer(): Promise<Outcomes['unread']> {
  const socket = await open(installation.baseUrl);
  socket.pause();
  socket.write(requestTo('/chat/completions', JSON.stringify({ model: 'slow/large', messages })));
  await delay(UNREAD_FOR_MS);
  const pieces: Buffer[] = [];
  socket.on('data', (piece: Buffer) => pieces.push(piece)).on('error', () => undefined);
  await new Promise((resolve) => socket.once('close', resolve).resume());
  const received = Buffer.concat(pieces);
  const head = received.indexOf('\r\n\r\n') + 4;
  const announced = Number(/content-length: (\d+)/i.exec(received.toString('latin1', 0, head))![1]);
  return { announced, received: received.length - head };
}

async function halfAnswer(): Promise<Outcomes['answer']> {
  const answer = await exchange(
    installation.baseUrl,
    requestTo('/chat/completions', JSON.stringify({ model: 'slow/half', messages })),
  );
  return { ...answer, row: await settledGeneration(installation.database, answer.headers['x-generation-id']!) };
}

describe('a caller', () => {
  it('U28 whose head never ends is told so and cut off within a minute', () => {
    const { closedAfterMs, received } = outcomes.head;
    expect(received).toMatch(/^HTTP\/1\.1 408 /);
    expect(received).toContain('{"error":{"code":408,');
    expect(closedAfterMs).toBeLessThan(60_000);
  });

  it('U29 whose body stops half way is told so after a minute, and nothing is left of it', async () => {
    for (const answer of outcomes.bodies) {
      expectRefusal(answer, 408);
      expect(answer.tookMs).toBeLessThan(65_000);
    }
    const { generations: _calls, ledger_transfers: _charges, ...now } = await countRows(installation.database);
    expect(before).toMatchObject(now);
  });
});

describe('an answer', () => {
  it('is cut off when its caller takes nothing of it for a minute', () => {
    const { announced, received } = outcomes.unread;
    expect(received).toBeGreaterThan(0);
    expect(received).toBeLessThan(announced);
  });
});

describe('a provider', () => {
  it('that stops in the middle of a stream is covered by comments, and given up after a minute', () => {
    const { text, firstCommentMs, tookMs } = outcomes.stream;
    expect(firstCommentMs).toBeLessThan(12_000);
    expect(text.match(/^: SLUICE PROCESSING$/gm)!.length).toBeGreaterThanOrEqual(4);
    const events = eventsOf(text);
    expect(events.at(-1)).toBe('[DONE]');
    expect(JSON.parse(events.at(-2)!)).toMatchObject({ error: { code: 504 }, choices: [{ finish_reason: 'error' }] });
    expect(tookMs).toBeLessThan(70_000);
  });

  it('that stops in the middle of a stream is paid for what it said, once', () => {
    const { row } = outcomes.stream;
    expect(row).toMatchObject({ state: 'settled', outcome: 'failed', provenance: 'partial' });
    expect(row.charges).toEqual([row.cost]);
    expect(row.completion_tokens).toBeGreaterThan(0);
  });

  it('that stops in the middle of an answer is given up after a minute and paid nothing', () => {
    const { row, ...answer } = outcomes.answer;
    expectRefusal(answer, 504);
    expect(answer.tookMs).toBeLessThan(70_000);
    expect(row).toMatchObject({ state: 'settled', outcome: 'failed', charges: [] });
  });

  it('is no longer held by any connection of ours', async () => {
    const endings = await Promise.all(upstream.endings);
    expect(endings.filter((isWhole) => !isWhole)).toHaveLength(2);
  });
});

describe('the books', () => {
  it('balance, and hold nothing', async () => {
    expect(await new LedgerRepository(installation.database).audit()).toEqual([]);
    expect(Number((await countRows(installation.database)).held_usd)).toBe(0);
  });
});
