import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { aModel, anAnswerContext, anEndpoint, aProvider } from '../testing';
import { Cancellation } from '../model/cancellation';
import { dialectOf } from '../dialects';
import { isOversized } from './oversized-answer';
import { UpstreamHttp } from './upstream-http';
import type { UpstreamStream } from './upstream-stream';

const MIB = 1024 * 1024;

const choice = (more: string, delta = ''): string =>
  `{"id":"c","created":1,"choices":[{"index":0,${delta}"more":${more}}]}`;
const list = (value: string, count: number): string => `[${`${value},`.repeat(count - 1)}${value}]`;
/** What OpenAI writes for a token and 20 alternatives. */
const PROBABILITIES = list('{"token":"a","logprob":-1.5,"bytes":[97],"top_logprobs":[]}', 20);

describe('answers of providers', () => {
  let server: Server;
  let http: UpstreamHttp;
  let answer: string;

  beforeAll(async () => {
    server = createServer((_request, response) => response.end(answer)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    http = new UpstreamHttp();
  });

  afterAll(async () => {
    await http.close();
    server.close();
  });

  const ask = async (): Promise<unknown> => {
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const timeouts = { headersMs: 20_000, idleMs: 20_000, totalMs: 20_000 };
    const endpoint = anEndpoint({ provider: aProvider({ baseUrl, maxConcurrency: 4 }) });
    const call = { endpoint, apiKey: null, signal: new Cancellation(), body: Buffer.from('{}'), timeouts };
    return http.request('/', [], call).catch((error: unknown) => error);
  };

  it.each([
    ['lists', list('[]', 2 * MIB)],
    ['objects', list('{}', 2 * MIB)],
    ['fields', `{${'"a":1,'.repeat(2 * MIB)}"a":1}`],
    ['numbers', list('1', 8.2 * MIB)],
    ['levels', '['.repeat(4 * MIB)],
  ])('are not parsed if they are made of millions of %s', async (_what, more) => {
    answer = choice(more);
    expect(isOversized((await ask()) as never)).toBe(true);
  });

  it.each([
    ['probabilities of 10,000 tokens and their alternatives', list(PROBABILITIES, 10_000)],
    ['vectors', list(list('-0.0123456789', 3_072), 300)],
    ['a picture of any letters', `"${'[{,:'.repeat(4 * MIB)}"`],
  ])('may have %s', async (_what, more) => {
    answer = choice(more);
    expect(await ask()).toMatchObject({ status: 200 });
  });

  it('are not parsed as an event of a stream either', async () => {
    const events = [choice('1', '"delta":{"content":"a"},'), choice(list('[]', MIB), '"delta":{"content":"b"},')];
    const left = events.map((event) => Buffer.from(`data: ${event}\n\n`));
    const upstream: UpstreamStream = {
      read: async () => left.shift() ?? null,
      leave: () => 0,
      cancel: () => undefined,
      discard: () => undefined,
    };
    const endpoint = anEndpoint();
    const context = anAnswerContext({ model: aModel({ endpoints: [endpoint] }), endpoint });
    const stream = await dialectOf('chat').openStream!(upstream, context);
    for await (const _pieces of stream) continue;
    const { error } = await stream.outcome;
    expect(isOversized(error!)).toBe(true);
  });
});
