import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { GatheringMessage } from './gathering-message';
import { streamBody } from './read-body';

const HEAD = 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
/** Bytes that Node buffers of a body that is not read. */
const MARK_BYTES = 64 * 1024;

const chunksOf = (bytes: string): string => [...bytes].map((byte) => `1\r\n${byte}\r\n`).join('');
const textOf = (length: number): string => Array.from({ length }, (_, index) => String(index % 10)).join('');

describe(GatheringMessage.name, () => {
  let server: Server;
  let client: Socket;

  beforeEach(async () => {
    server = createServer({ IncomingMessage: GatheringMessage }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  });

  afterEach(() => {
    client.destroy();
    server.closeAllConnections();
    server.close();
  });

  const requestWith = async (body: string): Promise<IncomingMessage> => {
    client.write(`${HEAD}${body}`);
    const [request] = (await once(server, 'request')) as [IncomingMessage];
    return request;
  };

  it('keeps few objects of an unread body in chunks of one byte, and all of its bytes in order', async () => {
    const text = textOf(4 * MARK_BYTES);
    const request = await requestWith(`${chunksOf(text)}0\r\n\r\n`);
    while (!request.socket.isPaused()) await delay(5);
    const pieces: Buffer[] = [];
    let arrived = 0;
    let objects = 0;
    request.on('data', (piece: Buffer) => {
      pieces.push(piece);
      if (arrived < MARK_BYTES / 2) objects += 1;
      arrived += piece.length;
    });
    await once(request, 'end');
    expect(Buffer.concat(pieces).toString()).toBe(text);
    expect(objects).toBeLessThan(100);
  });

  it('stops the sender while the body is not read, and goes on when it is', async () => {
    const text = textOf(400_000);
    const request = await requestWith(`${chunksOf(text)}0\r\n\r\n`);
    await delay(200);
    expect(request.complete).toBe(false);
    expect(request.readableLength).toBeLessThan(3 * MARK_BYTES);
    const pieces: Buffer[] = [];
    for await (const piece of streamBody(request)) {
      pieces.push(piece);
      if (pieces.length % 4 === 0) await delay(1);
    }
    expect(Buffer.concat(pieces).toString()).toBe(text);
  });

  it('hands on each piece of a slow body when it has come', async () => {
    const request = await requestWith(chunksOf('a'));
    const body = streamBody(request);
    const read = async (): Promise<string> => String((await body.next()).value);
    expect(await read()).toBe('a');
    for (const text of ['bc', 'd', 'efg']) {
      client.write(chunksOf(text));
      let seen = '';
      while (seen.length < text.length) seen += await read();
      expect(seen).toBe(text);
    }
    client.write('0\r\n\r\n');
    expect((await body.next()).done).toBe(true);
  });

  it('hands on what came in small pieces while the reader was busy', async () => {
    const request = await requestWith(chunksOf('a'));
    for (const text of ['b', 'c', 'd']) {
      await delay(20);
      client.write(chunksOf(text));
    }
    await delay(20);
    const body = streamBody(request);
    let seen = '';
    while (seen.length < 4) seen += String((await body.next()).value);
    expect(seen).toBe('abcd');
  });

  it('does not hold back the end of a body that is thrown away', async () => {
    const request = await requestWith(`${chunksOf(textOf(50_000))}0\r\n\r\n`);
    request.resume();
    await once(request, 'end');
    expect(request.complete).toBe(true);
  });
});
