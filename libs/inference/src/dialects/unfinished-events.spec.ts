import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Cancellation } from '../model/cancellation';
import { aModel, anAnswerContext, anEndpoint, aProvider, textOf } from '../testing';
import { ReplyBudget } from '../wire/reply-budget';
import { UpstreamHttp } from '../wire/upstream-http';
import type { UpstreamStream } from '../wire/upstream-stream';
import { dialectOf } from '.';

const MIB = 1024 * 1024;
const STREAMS = 16;
const BUDGET = 8 * MIB;
const FIRST_PART = 3 * MIB;
const CONTENT = 'x'.repeat(4 * MIB);
const EVENT = `data: ${JSON.stringify({ id: 'c', created: 1, choices: [{ index: 0, delta: { content: CONTENT } }] })}\n\n`;
const END =
  'data: {"id":"c","created":1,"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';

describe('events of streams that have arrived in part', () => {
  const answers: ServerResponse[] = [];
  let server: Server;
  let http: UpstreamHttp;
  let bytesRead = 0;

  beforeAll(async () => {
    server = createServer((request, response) => {
      request.resume().on('end', () => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(EVENT.slice(0, FIRST_PART));
        answers.push(response);
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    http = new UpstreamHttp({ replies: new ReplyBudget(BUDGET) });
  });

  afterAll(async () => {
    await http.close();
    server.close();
  });

  /** Counts what the reader of a stream has taken. */
  const counted = (upstream: UpstreamStream): UpstreamStream => ({
    read: async (unfinishedBytes) => {
      const chunk = await upstream.read(unfinishedBytes);
      bytesRead += chunk?.length ?? 0;
      return chunk;
    },
    leave: () => upstream.leave(),
    cancel: () => upstream.cancel(),
    discard: () => upstream.discard(),
  });

  it('are kept within a bound for all streams together, and all come to their end', async () => {
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const endpoint = anEndpoint({ provider: aProvider({ baseUrl, maxConcurrency: STREAMS }) });
    const timeouts = { headersMs: 20_000, idleMs: 20_000, totalMs: 20_000 };
    const lengths = Array.from({ length: STREAMS }, async () => {
      const signal = new Cancellation();
      const call = { endpoint, apiKey: null, signal, body: Buffer.from('{}'), timeouts };
      const upstream = (await http.stream('/', [], call)) as UpstreamStream;
      const context = anAnswerContext({ model: aModel({ endpoints: [endpoint] }), endpoint });
      return (await textOf(await dialectOf('chat').openStream!(counted(upstream), context))).length;
    });
    const all = Promise.all(lengths);
    await settled();
    expect(answers).toHaveLength(STREAMS);
    // Each may take what had been read before it had to wait.
    expect(bytesRead).toBeLessThan(BUDGET + FIRST_PART + STREAMS * MIB * 0.5);
    for (const answer of answers) answer.end(EVENT.slice(FIRST_PART) + END);
    for (const length of await all) expect(length).toBeGreaterThan(CONTENT.length);
  }, 30_000);

  /** Waits until nothing more is read. */
  async function settled(): Promise<void> {
    for (let before = -1; before !== bytesRead || answers.length < STREAMS;) {
      before = bytesRead;
      await delay(300);
    }
  }
});
