import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import { AppError } from '@libs/errors';
import { bytesInUse } from '@libs/json/testing';
import { readBody, streamBody, takeWholeBody, type BodyLimits } from './read-body';
import { askRaw } from './testing/raw-client';
import { limitUploadTime, UPLOAD_TIMES } from './upload-limit';

const HEAD = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n';
const LIMITS: BodyLimits = { maxBytes: 10, idleMs: 50, totalMs: 1_000 };

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

describe(readBody.name, () => {
  let server: Server;
  let handle: Handler;
  const port = (): number => (server.address() as AddressInfo).port;

  beforeEach(async () => {
    server = createServer((request, response) => void handle(request, response)).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  const answeringWith =
    (limits: BodyLimits): Handler =>
    async (request, response) => {
      const text = await readBody(request, limits).then(String, (error: AppError) => error.code);
      response.end(text);
    };

  it('gathers what comes in pieces', async () => {
    handle = answeringWith({ ...LIMITS, idleMs: 5_000, totalMs: 5_000 });
    const answer = await askRaw(port(), '', {
      drive: (socket) => {
        socket.write(`${HEAD}01234`);
        setTimeout(() => socket.write('56789'), 20);
      },
    });
    expect(answer.body).toBe('0123456789');
  });

  it('takes little more memory for a body in chunks of one byte than for its bytes', async () => {
    const chunks = 600_000;
    let grownBytes = Infinity;
    handle = async (request, response) => {
      const before = bytesInUse();
      const onLength = (bytes: number): void => {
        if (bytes === chunks) grownBytes = bytesInUse() - before;
      };
      const body = await readBody(request, { maxBytes: chunks, idleMs: 5_000, totalMs: 60_000, onLength });
      response.end(String(body.equals(Buffer.alloc(chunks, 'x'))));
    };
    const head = 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
    const answer = await askRaw(port(), `${head}${'1\r\nx\r\n'.repeat(chunks)}0\r\n\r\n`);
    expect(answer.body).toBe('true');
    expect(grownBytes).toBeLessThan(16 * 1024 * 1024);
  });

  it('gives up on a body that stops coming (U29)', async () => {
    handle = answeringWith(LIMITS);
    expect((await askRaw(port(), `${HEAD}01234`)).body).toBe('request_timeout');
  });

  it('gives up on a body that never ends', async () => {
    handle = answeringWith({ ...LIMITS, totalMs: 0 });
    expect((await askRaw(port(), `${HEAD}01234`)).body).toBe('request_timeout');
  });

  it('gives up on a body that keeps coming after its time', async () => {
    handle = answeringWith({ maxBytes: 1_000, idleMs: 5_000, totalMs: 100 });
    let drip: NodeJS.Timeout | undefined;
    const answer = await askRaw(port(), '', {
      drive: (socket) => {
        socket.write(HEAD.replace('10', '1000'));
        drip = setInterval(() => socket.writable && socket.write('x'), 10);
      },
    });
    clearInterval(drip);
    expect(answer.body).toBe('request_timeout');
  });

  it('says how long a body is that did not say so', async () => {
    const lengths: number[] = [];
    handle = answeringWith({ ...LIMITS, onLength: (bytes) => lengths.push(bytes) });
    const chunked = 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n0\r\n\r\n';
    expect((await askRaw(port(), chunked)).body).toBe('01234');
    expect(lengths).toEqual([5]);
  });

  it('stops at the limit', async () => {
    handle = answeringWith({ ...LIMITS, maxBytes: 4 });
    expect((await askRaw(port(), `${HEAD}0123456789`)).body).toBe('payload_too_large');
  });

  const gather = async (request: IncomingMessage): Promise<string> => {
    let text = '';
    for await (const chunk of streamBody(request)) text += chunk.toString();
    return text;
  };

  it('hands the pieces out to whoever wants them as they come', async () => {
    handle = async (request, response) => void response.end(await gather(request));
    expect((await askRaw(port(), `${HEAD}0123456789`)).body).toBe('0123456789');
  });

  it.each([
    ['gathers', (request: IncomingMessage) => readBody(request, LIMITS)],
    ['hands out', gather],
  ])('notices a caller who leaves while it %s', async (_what, read) => {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    handle = async (request) => resolve(await read(request).catch((error: unknown) => error));
    await askRaw(port(), '', { drive: (socket) => socket.write(`${HEAD}0`, () => socket.destroy()) });
    expect(await promise).toMatchObject({ code: 'invalid_request' });
  });
});

describe(limitUploadTime.name, () => {
  it('answers 408 and closes when a body that a route reads stops coming (U29)', async () => {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const readAll = async (request: IncomingMessage): Promise<void> => {
      for await (const chunk of request) expect(chunk).toEqual(Buffer.from('01234'));
    };
    const server = createServer((request) => {
      limitUploadTime(request, { ...UPLOAD_TIMES, idleMs: 50 });
      readAll(request).catch(resolve);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const answer = await askRaw((server.address() as AddressInfo).port, `${HEAD}01234`, { lingerMs: 2_000 });
    server.close();
    expect(answer).toMatchObject({ status: 408, closed: true, reset: false });
    expect(await promise).toBeInstanceOf(AppError);
  });

  it('answers 408 when a body keeps coming, but too slowly in all', async () => {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const readAll = async (request: IncomingMessage): Promise<void> => {
      for await (const chunk of request) expect(chunk).toHaveLength(1);
    };
    const server = createServer((request) => {
      limitUploadTime(request, { idleMs: 60_000, graceMs: 50, leastBytesPerSecond: 1_000 });
      readAll(request).catch(resolve);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    let drip: NodeJS.Timeout | undefined;
    const answer = await askRaw((server.address() as AddressInfo).port, '', {
      lingerMs: 2_000,
      drive: (socket) => {
        socket.write(HEAD.replace('10', '100000'));
        drip = setInterval(() => socket.writable && socket.write('x'), 10);
      },
    });
    clearInterval(drip);
    server.close();
    expect(answer).toMatchObject({ status: 408, closed: true });
    expect(await promise).toBeInstanceOf(AppError);
  });

  it('goes on with an upload that is as fast as it must be', async () => {
    const server = createServer((request, response) => {
      limitUploadTime(request, { idleMs: 60_000, graceMs: 50, leastBytesPerSecond: 1 });
      request.resume().once('end', () => response.end('all of it'));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const answer = await askRaw((server.address() as AddressInfo).port, '', {
      drive: (socket) => {
        socket.write(HEAD);
        for (let i = 1; i <= 10; i += 1) setTimeout(() => socket.write('x'), 20 * i);
      },
    });
    server.close();
    expect(answer.body).toBe('all of it');
  });
});

describe(takeWholeBody.name, () => {
  let server: Server;
  let taken: (Buffer | null)[];
  let ended: number;
  let maxBytes: number;
  const port = (): number => (server.address() as AddressInfo).port;

  beforeEach(async () => {
    taken = [];
    ended = 0;
    maxBytes = 10;
    const handle: Handler = async (request, response) => {
      request.once('end', () => (ended += 1));
      await Promise.resolve();
      const body = takeWholeBody(request, maxBytes);
      taken.push(body);
      response.end(String(body));
    };
    server = createServer((request, response) => void handle(request, response)).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  it('has a body that came in the packet of its head, and the message ends', async () => {
    expect((await askRaw(port(), `${HEAD}0123456789`)).body).toBe('0123456789');
    expect(taken.map(String)).toEqual(['0123456789']);
    expect(ended).toBe(1);
  });

  it('serves the next request on the same connection', async () => {
    const socket = connect(port(), '127.0.0.1');
    const answers: string[] = [];
    for (const body of ['0123456789', 'abcdefghij']) {
      socket.write(HEAD + body);
      const [answer] = (await once(socket, 'data')) as [Buffer];
      answers.push(String(answer).slice(-body.length));
    }
    socket.destroy();
    expect(answers).toEqual(['0123456789', 'abcdefghij']);
    expect(taken.map(String)).toEqual(answers);
  });

  it('leaves a body alone that has not all come', async () => {
    await askRaw(port(), `${HEAD}01234`);
    expect(taken).toEqual([null]);
  });

  it('leaves a body alone that is longer than its limit', async () => {
    maxBytes = 9;
    await askRaw(port(), `${HEAD}0123456789`);
    expect(taken).toEqual([null]);
  });
});
