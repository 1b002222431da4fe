import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { answerInTurn, MOST_UNTAKEN, MOST_WAITING } from './answer-in-turn';

type Exchange = readonly [IncomingMessage, ServerResponse];

const MOST_CONNECTIONS = 3;

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
const gets = (count: number): string => Array.from({ length: count }, (_, nth) => get(`/${nth}`)).join('');

describe(answerInTurn.name, () => {
  let server: Server;
  let taken: Exchange[];
  let arrived: number;
  let overrun: number;
  /** What happens to a request that is handed on; null leaves it without an answer. */
  let answer: ((request: IncomingMessage, response: ServerResponse) => void) | null;
  let socket: Socket;
  let received: string;

  beforeEach(async () => {
    taken = [];
    [arrived, overrun, received] = [0, 0, ''];
    answer = (request, response) => void response.end(`answer to ${request.url}\n`);
    const listener = answerInTurn(
      (request, response) => {
        taken.push([request, response]);
        answer?.(request, response);
      },
      () => (overrun += 1),
      MOST_CONNECTIONS,
    );
    server = createServer(listener).listen(0, '127.0.0.1');
    server.on('request', () => (arrived += 1));
    await once(server, 'listening');
    socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.on('error', () => undefined).on('data', (data: Buffer) => (received += data.toString('latin1')));
    await once(socket, 'connect');
  });

  afterEach(() => {
    socket.destroy();
    server.closeAllConnections();
    server.close();
  });

  const answers = (): string[] => received.match(/answer to \S+/g) ?? [];
  const until = async (isSo: () => boolean): Promise<void> => {
    while (!isSo()) await new Promise(setImmediate);
  };
  const inOrder = (count: number): string[] => Array.from({ length: count }, (_, nth) => `answer to /${nth}`);

  it('hands on the next request of a connection when the one before is answered', async () => {
    answer = null;
    socket.write(gets(3));
    await until(() => arrived === 3);
    expect(taken).toHaveLength(1);
    taken[0]![1].end('answer to /0\n');
    await until(() => taken.length === 2);
    await until(() => answers().length === 1);
    expect(taken).toHaveLength(2);
    answer = (request, response) => void response.end(`answer to ${request.url}\n`);
    taken[1]![1].end('answer to /1\n');
    await until(() => answers().length === 3);
    expect(answers()).toEqual(inOrder(3));
  });

  it('keeps a connection open whose requests come one at a time, and those that come ahead within the limit', async () => {
    for (let nth = 0; nth < 50; nth += 1) {
      socket.write(get(`/${nth}`));
      await until(() => answers().length === nth + 1);
    }
    expect(answers()).toEqual(inOrder(50));
    received = '';
    socket.write(gets(1 + MOST_WAITING));
    await until(() => answers().length === 1 + MOST_WAITING);
    expect(answers()).toEqual(inOrder(1 + MOST_WAITING));
    socket.write(get('/still'));
    await until(() => answers().includes('answer to /still'));
    expect(overrun).toBe(0);
  });

  it('closes a connection with too many requests ahead after the answers to those within the limit', async () => {
    answer = null;
    socket.write(gets(1 + MOST_WAITING + 2));
    await until(() => arrived === 1 + MOST_WAITING + 2);
    answer = (request, response) => void response.end(`answer to ${request.url}\n`);
    taken[0]![1].end('answer to /0\n');
    await once(socket, 'end');
    expect(answers()).toEqual(inOrder(1 + MOST_WAITING));
    expect(taken).toHaveLength(1 + MOST_WAITING);
    expect(overrun).toBe(1);
  });

  it('takes no request after one that is beyond the limit', async () => {
    answer = null;
    socket.write(gets(1 + MOST_WAITING + 1));
    await until(() => arrived === 1 + MOST_WAITING + 1);
    answer = (request, response) => void response.end(`answer to ${request.url}\n`);
    taken[0]![1].end('answer to /0\n');
    socket.write(get('/late'));
    await once(socket, 'end');
    expect(taken.map(([{ url }]) => url)).not.toContain('/late');
  });

  it('closes a connection at once that goes far beyond the limit', async () => {
    answer = null;
    socket.write(gets(1 + MOST_WAITING + MOST_UNTAKEN));
    await once(socket, 'close');
    expect(taken).toHaveLength(1);
    expect(taken[0]![1].destroyed).toBe(true);
    expect(overrun).toBe(1);
  });

  it('hands on the body of a request that waited, and what follows it', async () => {
    answer = (request, response) => {
      let body = '';
      request.on('data', (data: Buffer) => (body += data.toString('latin1')));
      request.on('end', () => response.end(`answer to ${request.url}${body}\n`));
    };
    const body = `GET /smuggled HTTP/1.1\r\n\r\n${'x'.repeat(200_000)}`;
    const post = `POST /post: HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const chunked = 'POST /chunked: HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n';
    socket.write(get('/first') + post + chunked + get('/last'));
    await until(() => answers().length === 4);
    expect(answers()).toEqual(['answer to /first', 'answer to /post:GET', 'answer to /chunked:abc', 'answer to /last']);
    expect(taken).toHaveLength(4);
  });

  it('reads no more of a connection while one of its requests waits, and the rest afterwards', async () => {
    answer = null;
    const connected = once(server, 'request');
    socket.write(get('/0'));
    const [{ socket: accepted }] = (await connected) as unknown as Exchange;
    const body = 'x'.repeat(60_000);
    for (let nth = 1; nth < 5; nth += 1) {
      socket.write(`POST /${nth} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    }
    await until(() => arrived > 1);
    for (let turn = 0; turn < 1_000; turn += 1) await new Promise(setImmediate);
    expect(accepted.bytesRead).toBeLessThan(3 * 64 * 1024);
    answer = (request, response) => {
      request.resume().on('end', () => response.end(`answer to ${request.url}\n`));
    };
    taken[0]![1].end('answer to /0\n');
    await until(() => answers().length === 5);
    expect(answers()).toEqual(inOrder(5));
  });

  it('closes a connection that sends ahead while too many others wait', async () => {
    answer = null;
    const others = Array.from({ length: MOST_CONNECTIONS }, () =>
      connect((server.address() as AddressInfo).port, '127.0.0.1'),
    );
    for (const other of others) other.on('error', () => undefined).write(gets(2));
    await until(() => arrived === 2 * MOST_CONNECTIONS);
    socket.write(gets(2));
    await once(socket, 'close');
    expect(overrun).toBe(1);
    // The places of those that have left can be had again.
    for (const other of others) other.resetAndDestroy();
    for (const [{ url }, response] of taken) if (url === '/0') response.destroy();
    await until(() => taken.every(([, response]) => response.destroyed));
    const next = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
    next.write(gets(2));
    await until(() => arrived === 2 * MOST_CONNECTIONS + 4);
    await new Promise(setImmediate);
    expect([overrun, next.destroyed]).toEqual([1, false]);
    next.destroy();
  });

  it('hands on nothing behind an answer that closes the connection', async () => {
    answer = (request, response) => void response.setHeader('connection', 'close').end(`answer to ${request.url}\n`);
    socket.write(gets(3));
    await once(socket, 'end');
    expect(answers()).toEqual(inOrder(1));
    expect(taken).toHaveLength(1);
  });

  it('hands on nothing more of a client that has left', async () => {
    answer = null;
    socket.write(gets(3));
    await until(() => arrived === 3);
    socket.resetAndDestroy();
    // Nothing is read from the connection while requests wait, so that this is seen when something is written.
    await until(() => {
      taken[0]![1].write('more');
      return taken[0]![1].destroyed;
    });
    await new Promise(setImmediate);
    expect(taken).toHaveLength(1);
  });
});
