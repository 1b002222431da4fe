import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AppError } from '@libs/errors';
import { Cancellation } from '../model/cancellation';
import { anEndpoint, aProvider } from '../testing';
import { isHeldBack } from './upstream-error';
import { isUpstreamFault } from './upstream-fault';
import { ReplyBudget } from './reply-budget';
import { UpstreamHttp } from './upstream-http';

const CONNECTIONS = 2;
const BYTES = 64 * 1024;

describe('a call whose time runs out in this process', () => {
  let server: Server;
  let http: UpstreamHttp;
  let paths: string[];

  beforeEach(async () => {
    paths = [];
    server = createServer((request, response) => {
      paths.push(request.url!);
      if (request.url === '/drips') response.write('a');
      if (request.url === '/whole') response.end(Buffer.alloc(BYTES, 'a'));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    http = new UpstreamHttp({ replies: new ReplyBudget(10) });
  });

  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await http.close();
  });

  async function call(path: string, totalMs: number, maxConcurrency = CONNECTIONS): Promise<AppError> {
    const { port } = server.address() as AddressInfo;
    const provider = aProvider({ baseUrl: `http://127.0.0.1:${port}`, maxConcurrency });
    const timeouts = { headersMs: 30_000, idleMs: 30_000, totalMs };
    const bounds = { signal: new Cancellation(), timeouts };
    const thrown = await http
      .request(path, [], { endpoint: anEndpoint({ provider }), apiKey: null, body: Buffer.from('{}'), ...bounds })
      .catch((error: unknown) => error);
    if (thrown instanceof AppError) return thrown;
    throw new Error(`the call of ${path} was answered`);
  }
  const blame = (error: AppError): readonly unknown[] => [error.code, isHeldBack(error), isUpstreamFault(error)];

  it('while it waits for a connection is no fault of its provider', async () => {
    const hung = Array.from({ length: CONNECTIONS }, () => call('/hung', 4_000));
    while (paths.length < CONNECTIONS) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(blame(await call('/healthy', 500))).toEqual(['timeout', true, false]);
    expect(paths).not.toContain('/healthy');
    for (const one of hung) expect(blame(await one)).toEqual(['timeout', false, true]);
  });

  it('while others are read before it is no fault of its provider', async () => {
    const dripping = call('/drips', 4_000, 8);
    while (paths.length < 1) await new Promise((resolve) => setTimeout(resolve, 5));
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(blame(await call('/whole', 1_000, 8))).toEqual(['timeout', true, false]);
    expect(blame(await dripping)).toEqual(['timeout', false, true]);
  });
});
