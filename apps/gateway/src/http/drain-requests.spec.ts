import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { drainRequests, DRAIN_TIMES, type DrainTimes } from './drain-requests';
import { InFlight, RequestLife } from './in-flight';
import { OpenConnections } from './open-connections';

const LONG_ANSWER = Buffer.alloc(32 * 1024 * 1024, 'x');
const NEVER = new AbortController().signal;

/** A server whose requests are followed as those of the gateway are. */
async function serve(answer: (response: ServerResponse, life: RequestLife) => void) {
  const inFlight = new InFlight();
  const server: Server = createServer((_request, response) => {
    const life = new RequestLife([], inFlight.pools, response);
    response.on('close', () => inFlight.leave(life));
    inFlight.enter(life);
    answer(response, life);
  });
  const connections = new OpenConnections(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const drain = (deadline = NEVER, times: Partial<DrainTimes> = {}): Promise<void> =>
    drainRequests({ server, inFlight, connections }, deadline, { ...DRAIN_TIMES, ...times });
  const ask = (bytes = 'GET / HTTP/1.1\r\nHost: gateway\r\n\r\n'): Socket => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    sockets.push(socket);
    socket.write(bytes);
    return socket;
  };
  return { server, inFlight, drain, ask };
}

/** Returns all that arrives until the connection closes or is reset. */
async function readAll(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => undefined);
  await new Promise((resolve) => socket.once('close', resolve));
  return Buffer.concat(chunks);
}

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

const half = 'POST / HTTP/1.1\r\nHost: gateway\r\nContent-Length: 100\r\n\r\n{';

describe(drainRequests.name, () => {
  it('waits for the requests under way, and not for a connection on which nothing was asked', async () => {
    const { server, inFlight, drain, ask } = await serve(() => undefined);
    const silent = ask('');
    await once(server, 'connection');
    const life = new RequestLife();
    inFlight.enter(life);
    let isDrained = false;
    const drained = drain().then(() => (isDrained = true));
    await new Promise(setImmediate);
    expect(isDrained).toBe(false);
    inFlight.leave(life);
    await Promise.all([drained, once(server, 'close'), once(silent, 'close')]);
  });

  it('lets a caller read an answer to its end that was handed to the socket before the signal', async () => {
    const answered = Promise.withResolvers<void>();
    const { drain, ask } = await serve((response) => {
      response.end(LONG_ANSWER);
      answered.resolve();
    });
    const slow = ask();
    slow.pause();
    await answered.promise;
    const drained = drain();
    // The reader goes on only once the drain has looked at its connection twice.
    await new Promise((resolve) => setTimeout(resolve, 600));
    const received = await readAll(slow.resume());
    expect(received.length).toBeGreaterThan(LONG_ANSWER.length);
    await drained;
  });

  it('closes kept connections once their answers were sent, while others are still being answered', async () => {
    const waiting = Promise.withResolvers<ServerResponse>();
    const { drain, ask, server } = await serve((response) => {
      if (response.req.url === '/long') waiting.resolve(response);
      else response.end('short');
    });
    const short = ask();
    await once(short, 'data');
    ask('GET /long HTTP/1.1\r\nHost: gateway\r\n\r\n').resume();
    const long = await waiting.promise;
    const drained = drain();
    await once(short, 'close');
    long.end();
    await Promise.all([drained, once(server, 'close')]);
  });

  it('refuses a body that is still arriving when its patience ends, with 503 and Retry-After', async () => {
    const { drain, ask, server } = await serve(() => undefined);
    const slow = ask(half);
    await once(server, 'request');
    const [received] = await Promise.all([readAll(slow), drain(NEVER, { patienceMs: 10 })]);
    expect(received.toString()).toMatch(/^HTTP\/1\.1 503 Service Unavailable\r\n/);
    expect(received.toString().toLowerCase()).toMatch(/\r\nretry-after: 1\r\n/);
  });

  it('closes a connection that ignores the shutdown, and one whose client does not read its answer', async () => {
    const { drain, ask, server } = await serve((response) => {
      if (response.req.url === '/unread') response.end(LONG_ANSWER);
    });
    const silent = readAll(ask());
    await once(server, 'request');
    const unread = ask('GET /unread HTTP/1.1\r\nHost: gateway\r\n\r\n').pause();
    await once(server, 'request');
    await drain(NEVER, { patienceMs: 10, lastWordsMs: 10 });
    expect((await silent).length).toBe(0);
    expect((await readAll(unread.resume())).length).toBeLessThan(LONG_ANSWER.length);
  });

  it('cuts everything when the deadline comes before its patience ends', async () => {
    const { drain, ask, server } = await serve(() => undefined);
    const silent = ask();
    await once(server, 'request');
    await Promise.all([readAll(silent), drain(AbortSignal.timeout(10))]);
  });

  it('stops a request that arrives after the waiting time is over', async () => {
    const stopped: string[] = [];
    const { inFlight, drain, ask, server } = await serve((_response, life) => {
      life.onEarlyEnd = (why) => stopped.push(why);
    });
    const [first, second] = [ask(), ask('GET / HTTP/1.1\r\n')];
    await once(server, 'request');
    const drained = drain(NEVER, { patienceMs: 10, lastWordsMs: 60_000 });
    while (stopped.length === 0) await new Promise(setImmediate);
    second.write('Host: gateway\r\n\r\n');
    await once(server, 'request');
    expect(stopped).toEqual(['stopped', 'stopped']);
    expect(inFlight.size).toBe(2);
    first.destroy();
    second.destroy();
    await drained;
  });
});
