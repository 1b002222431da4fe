import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { GatheringMessage } from './gathering-message';
import { readBody, streamBody } from './read-body';

const HEAD = 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
/** Bytes that Node buffers of a body that is not read. */
const MARK_BYTES = 64 * 1024;

const chunksOf = (text: string, bytes = 1): string =>
  text.replaceAll(new RegExp(`.{1,${bytes}}`, 'g'), (piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`);
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

  it('keeps few objects of an unread body in chunks of 64 bytes, and all of its bytes in order', async () => {
    const text = textOf(4 * MARK_BYTES);
    const request = await requestWith(`${chunksOf(text, 64)}0\r\n\r\n`);
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
    const text = textOf(1_600_000);
    const request = await requestWith(`${chunksOf(text, 64)}0\r\n\r\n`);
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
    const request = await requestWith(`${chunksOf(textOf(4_096))}0\r\n\r\n`);
    request.resume();
    await once(request, 'end');
    expect(request.complete).toBe(true);
  });

  it('takes a body of many chunks of one byte that are followed by large ones', async () => {
    const text = textOf(4_096) + textOf(70_000);
    const request = await requestWith(
      `${chunksOf(text.slice(0, 4_096))}${chunksOf(text.slice(4_096), 70_000)}0\r\n\r\n`,
    );
    const pieces: Buffer[] = [];
    for await (const piece of streamBody(request)) pieces.push(piece);
    expect(Buffer.concat(pieces).toString()).toBe(text);
  });

  it.each([
    ['that is read', true],
    ['that is not read', false],
  ])('refuses a body %s in more chunks of a few bytes, and reads no more of it', async (_of, isRead) => {
    const request = await requestWith(chunksOf(textOf(1_000)));
    const ended = isRead ? readBody(request, { maxBytes: 1e9, idleMs: 60_000, totalMs: 60_000 }) : Promise.resolve();
    const settled = ended.then(
      () => 'read',
      (error: Error) => error.message,
    );
    let answer = '';
    client.on('error', () => undefined).on('data', (data) => (answer += String(data)));
    const isStopped = !client.write(chunksOf(textOf(2_000_000)));
    await new Promise((resolve) => client.on('close', resolve));
    expect(answer).toMatch(/^HTTP\/1.1 400 Bad Request\r\n/);
    expect(JSON.parse(answer.slice(answer.indexOf('{')))).toMatchObject({
      error: { code: 400, message: expect.stringContaining('many chunks of a few bytes') },
    });
    expect(isStopped).toBe(true);
    expect(request.socket.bytesRead).toBeLessThan(8 * MARK_BYTES);
    expect(await settled).toBe(isRead ? 'The request body broke off' : 'read');
  });
});
