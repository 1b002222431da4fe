import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { FakeUpstream, type Behaviour } from '@libs/inference/testing';
import { LedgerRepository } from '@libs/persistence';
import { chatRequests, linesOf, type TestLine } from '../support/batch-lines';
import { catalogueOf } from '../support/catalogue';
import { findViolations, repeatedAnswers } from '../support/checker';
import type { ApiClient, BatchBody } from '../support/client';
import { eventually } from '../support/eventually';
import { readBooks, type BatchHistory } from '../support/history';
import { Installation, type AppName } from '../support/installation';
import { Upstream } from '../support/upstream';
import { eventsOf, openStream } from './event-stream';
import { bytesOf, exchange, open, readAnswer, write, type HeaderLine, type RawAnswer } from './raw-http';
import { expectRefusal } from './refusals';
import { settledGeneration } from './stored-generation';

const PRICES = { prompt: '0.000000123', completion: '0.000000457' };
const messages = [{ role: 'user', content: 'Say something please.' }];
/** How long the gateway goes on serving after it said that it is not ready. */
const DRAIN_DELAY_MS = 1_000;
/** From the signal to the end: the delay, the patience with what is under way, and the last words. */
const GONE_WITHIN_MS = 30_000;
const CALLERS = 24;
const LINES = 400;
const LINE_LATENCY_MS = 250;

let upstream: FakeUpstream;
let lines: Upstream;
let installation: Installation;
let client: ApiClient;

const chunk = (content: string, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'up-1', object: 'chat.completion.chunk', created: 1, model: 'theirs', choices: [{ index: 0, delta: { content }, finish_reason: finish }] })}\n\n`;
const answerOf = (content: string): string =>
  JSON.stringify({
    id: 'up-1',
    object: 'chat.completion',
    created: 1,
    model: 'theirs',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  });
const whole = answerOf('Something.');
/** More than the sockets between gateway and caller buffer. */
const large = answerOf('x'.repeat(16 * 1024 * 1024));
/** Between two reads of a caller that takes about 4 MiB/s of an answer. */
const SLOW_READ_MS = 15;

/** By the first part of the path, which is the provider. */
const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  quick: (response) =>
    void setTimeout(() => response.writeHead(200, { 'content-type': 'application/json' }).end(whole), 100),
  lengthy: (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(chunk('Something '));
    setTimeout(() => response.end(`${chunk('and more', 'stop')}data: [DONE]\n\n`), 4_000);
  },
  endless: (response) =>
    void response.writeHead(200, { 'content-type': 'text/event-stream' }).write(chunk('Something ')),
  hanging: () => undefined,
  large: (response) => void response.writeHead(200, { 'content-type': 'application/json' }).end(large),
};

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.behaviour = (response, request) => BEHAVIOURS[request.path.split('/')[1]!]!(response, request);
  lines = await Upstream.start({ lines: { latencyMs: LINE_LATENCY_MS } });
  const models = Object.keys(BEHAVIOURS).map((name) => ({
    slug: `drain/${name}`,
    provider: `drain-${name}`,
    baseUrl: `${upstream.origin}/${name}/v1`,
    pricing: PRICES,
  }));
  installation = await Installation.start({
    catalogue: catalogueOf([
      ...models,
      { slug: 'drain/lines', provider: 'drain-lines', baseUrl: lines.baseUrl('lines'), pricing: PRICES },
    ]),
    apps: ['auth', 'batch-worker', 'gateway'],
    environmentOf: { gateway: { DRAIN_DELAY_MS: String(DRAIN_DELAY_MS) }, 'batch-worker': { BATCH_CONCURRENCY: '32' } },
  });
  client = installation.client();
}, 240_000);

afterAll(async () => {
  await client?.close();
  await installation?.stop();
  await lines?.stop();
  await upstream?.close();
});

/** How the processes of an app ended so far, as their supervisor noted. */
function endsOf(name: string): string[] {
  return (
    readFileSync(join(installation.folder, `${name}.log`), 'utf8').match(
      /(?<=\[supervisor\] )(?:exited|was ended).*/g,
    ) ?? []
  );
}

/** Asks an app to end and says how it did; its supervisor starts it again. */
async function terminate(app: AppName, name: string = app): Promise<{ how: string; tookMs: number }> {
  const already = endsOf(name).length;
  const startedMs = performance.now();
  process.kill(installation.pidOf(name), 'SIGTERM');
  const how = await eventually(`${name} ends`, GONE_WITHIN_MS, () => endsOf(name)[already]);
  return { how, tookMs: performance.now() - startedMs };
}

function requestOf(path: string, body: string): Buffer {
  const headers: HeaderLine[] = [
    ['Host', 'gateway'],
    ['Authorization', `Bearer ${installation.seed.apiKey}`],
    ['Content-Type', 'application/json'],
    ['Content-Length', String(Buffer.byteLength(body))],
  ];
  return bytesOf({ method: 'POST', target: `/api/v1${path}`, headers, body });
}

const chat = (model: string): Promise<RawAnswer> =>
  exchange(installation.baseUrl, requestOf('/chat/completions', JSON.stringify({ model: `drain/${model}`, messages })));
const stream = (model: string): ReturnType<typeof openStream> =>
  openStream(installation.baseUrl, '/chat/completions', installation.seed.apiKey, {
    model: `drain/${model}`,
    messages,
    stream: true,
  });

/** Callers behind a load balancer: they come one after the other for as long as the gateway says that it is ready. */
class Load {
  readonly statuses: number[] = [];
  private isReady = true;
  private readonly callers: Promise<void>[];

  constructor() {
    this.callers = [this.watch(), ...Array.from({ length: CALLERS }, () => this.call())];
  }

  /** Resolves when the last of them has its answer. @throws when one of them got none */
  async end(): Promise<void> {
    await Promise.all(this.callers);
  }

  private async watch(): Promise<void> {
    while (this.isReady) {
      const answer = await fetch(new URL('/health/ready', installation.baseUrl));
      this.isReady = answer.ok;
      await answer.text();
      await delay(20);
    }
  }

  private async call(): Promise<void> {
    while (this.isReady) this.statuses.push((await chat('quick')).status);
  }
}

describe('a gateway that is told to end while it works', () => {
  interface Outcome {
    readonly end: { readonly how: string; readonly tookMs: number };
    readonly load: Load;
    readonly answeredBefore: number;
    readonly lengthy: string;
    readonly endless: { readonly text: string; readonly id: string };
    readonly hanging: RawAnswer;
    readonly upload: RawAnswer;
    readonly slowBody: RawAnswer;
    readonly slowlyRead: { readonly announced: number; readonly received: number };
    /** A stream whose caller has left after the signal. */
    readonly leftId: string;
  }

  let outcome: Outcome;

  beforeAll(async () => {
    const [lengthy, endless, left] = await Promise.all([stream('lengthy'), stream('endless'), stream('endless')]);
    await Promise.all([lengthy.next(), endless.next(), left.next()]);
    const hanging = chat('hanging');
    const upload = await beginUpload();
    const slowBody = await beginBody();
    const slowlyRead = await beginReading();
    const load = new Load();
    await eventually('the callers are served', 10_000, () => (load.statuses.length > CALLERS * 2 ? true : undefined));
    const answeredBefore = load.statuses.length;
    const ending = terminate('gateway');
    await load.end();
    left.leave();
    const finished = upload.finish();
    outcome = {
      load,
      answeredBefore,
      lengthy: await lengthy.rest(),
      endless: { text: await endless.rest(), id: endless.headers.get('x-generation-id')! },
      hanging: await hanging,
      upload: await finished,
      slowBody: await slowBody.answer,
      slowlyRead: await slowlyRead.end,
      leftId: left.headers.get('x-generation-id')!,
      end: await ending,
    };
  });

  /** A batch whose last bytes come when the gateway is already ending. */
  async function beginUpload(): Promise<{ finish: () => Promise<RawAnswer> }> {
    const requests = chatRequests(linesOf('upload', 3));
    const bytes = requestOf(
      '/batches',
      JSON.stringify({ endpoint: '/v1/chat/completions', model: 'drain/lines', requests }),
    );
    const socket = await open(installation.baseUrl);
    const answer = readAnswer(socket);
    await write(socket, bytes.subarray(0, -30));
    return {
      finish: async () => {
        await write(socket, bytes.subarray(-30));
        return answer;
      },
    };
  }

  /** Sends the head and a part of a body, and then nothing. */
  async function beginBody(): Promise<{ answer: Promise<RawAnswer> }> {
    const socket = await open(installation.baseUrl);
    const answer = readAnswer(socket);
    await write(
      socket,
      requestOf('/chat/completions', JSON.stringify({ model: 'drain/quick', messages })).subarray(0, -8),
    );
    return { answer };
  }

  /** An answer that is read slowly, begun; `end` resolves when the connection has closed. */
  async function beginReading(): Promise<{ end: Promise<Outcome['slowlyRead']> }> {
    const socket = await open(installation.baseUrl);
    let announced = 0;
    let received = 0;
    const begun = Promise.withResolvers<void>();
    socket.on('data', (piece: Buffer) => {
      const head = received === 0 ? piece.indexOf('\r\n\r\n') + 4 : 0;
      if (head > 0) announced = Number(/content-length: (\d+)/i.exec(piece.toString('latin1', 0, head))![1]);
      received += piece.length - head;
      begun.resolve();
      socket.pause();
      setTimeout(() => socket.resume(), SLOW_READ_MS);
    });
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(requestOf('/chat/completions', JSON.stringify({ model: 'drain/large', messages })));
    await begun.promise;
    return { end: closed.then(() => ({ announced, received })) };
  }

  it('ends by itself, with exit code 0', () => {
    expect(outcome.end.how).toBe('exited with code 0');
    expect(outcome.end.tookMs).toBeLessThan(GONE_WITHIN_MS);
  });

  it('has answered every request that it took', () => {
    expect(outcome.load.statuses.length).toBeGreaterThan(outcome.answeredBefore);
    expect(outcome.load.statuses.filter((status) => status !== 200)).toEqual([]);
  });

  it('has let a stream come to its own end', () => {
    const events = eventsOf(outcome.lengthy);
    expect(events.at(-1)).toBe('[DONE]');
    expect(outcome.lengthy).toContain('and more');
    expect(outcome.lengthy).not.toContain('"error"');
  });

  it('has ended a stream without end with an error and the last word', () => {
    const events = eventsOf(outcome.endless.text);
    expect(events.at(-1)).toBe('[DONE]');
    expect(JSON.parse(events.at(-2)!)).toMatchObject({
      id: outcome.endless.id,
      error: { code: 503, metadata: { error_type: 'provider_overloaded' } },
      choices: [{ finish_reason: 'error' }],
    });
  });

  it('has told a caller whose answer did not come to come again', () => {
    expectRefusal(outcome.hanging, 503);
    expect(outcome.hanging.headers['retry-after']).toMatch(/^[1-9]\d*$/);
  });

  it('has sent an answer whole to a caller that reads slowly', () => {
    expect(outcome.slowlyRead.announced).toBeGreaterThan(0);
    expect(outcome.slowlyRead.received).toBe(outcome.slowlyRead.announced);
  });

  it('answers a request whose body did not arrive with 503 and Retry-After', () => {
    expectRefusal(outcome.slowBody, 503);
    expect(outcome.slowBody.headers['retry-after']).toMatch(/^[1-9]\d*$/);
  });

  it('has accepted a batch whose last bytes came after the signal', () => {
    expect(outcome.upload.status).toBe(202);
    expect(JSON.parse(outcome.upload.body)).toMatchObject({ status: 'validating' });
  });

  it('has charged what it owed before it left, each call once', async () => {
    for (const id of [outcome.endless.id, outcome.leftId]) {
      const row = await settledGeneration(installation.database, id);
      expect(row).toMatchObject({ state: 'settled', outcome: 'cancelled' });
      expect(row.charges).toEqual([row.cost]);
    }
    const open = await installation.database.firstRow<{ n: number }>({
      sql: `SELECT count(*)::integer AS n FROM generations WHERE state = 'open'`,
      values: [],
    });
    expect(open!.n).toBe(0);
    expect(await new LedgerRepository(installation.database).audit()).toEqual([]);
  });

  it('comes back, and knows of the batch', async () => {
    await installation.untilReady();
    const { id } = JSON.parse(outcome.upload.body) as BatchBody;
    expect((await finished(id)).status).toBe('completed');
  });
});

function finished(id: string): Promise<BatchBody> {
  return eventually(`${id} comes to its end`, 30_000, async () => {
    const { body } = await client.getBatch(id);
    return body.finalized_at === null ? delay(100).then(() => undefined) : body;
  });
}

describe('a batch worker that is told to end in the middle of a batch', () => {
  async function begin(tag: string): Promise<{ id: string; asked: TestLine[] }> {
    await lines.forget();
    const asked = linesOf(tag, LINES);
    const submission = { endpoint: '/v1/chat/completions', model: 'drain/lines', requests: chatRequests(asked) };
    const { status, body } = await client.submitBatch(submission);
    expect(status).toBe(202);
    await eventually('a quarter of it was asked', 15_000, async () =>
      (await lines.counts()).calls >= LINES / 4 ? true : undefined,
    );
    return { id: body.id, asked };
  }

  async function historyOf(id: string, asked: TestLine[]): Promise<BatchHistory> {
    const batch = await finished(id);
    const books = await readBooks(installation.database, id);
    const calls = await lines.calls();
    return {
      endpoint: '/v1/chat/completions',
      lines: asked,
      prices: PRICES,
      batch,
      statuses: [batch.status],
      calls,
      books,
    };
  }

  it('ends with exit code 0, keeps what was asked, and the next one does the rest', async () => {
    const { id, asked } = await begin('drained');
    const end = await terminate('batch-worker');
    expect(end.how).toBe('exited with code 0');
    const atTheEnd = await lines.counts();
    expect(atTheEnd.calls).toBeLessThan(LINES);
    const history = await historyOf(id, asked);
    expect(history.batch).toMatchObject({
      status: 'completed',
      request_counts: { total: LINES, completed: LINES, failed: 0 },
    });
    expect(findViolations(history)).toEqual([]);
    // Every answer that the provider gave is an answer that was kept.
    expect(repeatedAnswers(history)).toBe(0);
    expect((await lines.counts()).calls).toBe(LINES);
  });

  it('leaves the rest to a second worker without waiting for leases to run out', async () => {
    await installation.startApp('batch-worker', 'second-worker');
    const { id, asked } = await begin('shared');
    const end = await terminate('batch-worker');
    expect(end.how).toBe('exited with code 0');
    const startedMs = performance.now();
    const history = await historyOf(id, asked);
    expect(performance.now() - startedMs).toBeLessThan(20_000);
    expect(history.batch!.request_counts).toEqual({ total: LINES, completed: LINES, failed: 0 });
    expect(findViolations(history)).toEqual([]);
    expect(repeatedAnswers(history)).toBe(0);
  });
});
