import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Server as TcpServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { sign } from 'aws4';
import { Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { BlobStore } from './blob-store';
import { FolderBlobStore } from './folder-blob-store';
import { openBlobStore } from './open-blob-store';
import { S3BlobStore } from './s3-blob-store';

const KEY = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret/with+signs' };
const REGION = 'eu-central-1';

async function* piecesOf(...pieces: readonly (string | Error)[]): AsyncGenerator<Buffer> {
  for (const piece of pieces) {
    if (piece instanceof Error) throw piece;
    yield Buffer.from(piece);
  }
}

/** A bucket on loopback that checks who is asking the way S3 does. */
class Bucket {
  readonly objects = new Map<string, Buffer>();
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  async start(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  url(secret = KEY.secretAccessKey): Secret {
    const { port } = this.#server.address() as AddressInfo;
    return new Secret(
      `http://${KEY.accessKeyId}:${encodeURIComponent(secret)}@127.0.0.1:${port}/films/kept?region=${REGION}`,
    );
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const path = request.url ?? '';
    if (!isSigned(request)) return void response.writeHead(403).end();
    if (request.method === 'PUT') {
      this.objects.set(path, Buffer.concat(chunks));
      return void response.writeHead(200).end();
    }
    if (request.method === 'DELETE') {
      this.objects.delete(path);
      return void response.writeHead(204).end();
    }
    const object = this.objects.get(path);
    if (!object) return void response.writeHead(404).end('<Error><Code>NoSuchKey</Code></Error>');
    sendObject(response, object, request.headers.range);
  }
}

function sendObject(response: ServerResponse, object: Buffer, range = ''): void {
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(range) ?? [];
  const part = first === undefined ? object : object.subarray(Number(first), Number(last) + 1);
  response.writeHead(first === undefined ? 200 : 206, { 'content-length': part.length }).end(part);
}

function isSigned({ method, url, headers }: IncomingMessage): boolean {
  const names = /SignedHeaders=([^,]+)/.exec(headers.authorization ?? '')?.[1]?.split(';') ?? [];
  const signed = Object.fromEntries(names.map((name) => [name, String(headers[name])]));
  const expected = sign({ service: 's3', region: REGION, method, path: url, headers: signed }, KEY);
  return (expected.headers as Record<string, string>)['Authorization'] === headers.authorization;
}

describe.each(['folder', 'bucket'])('blobs in a %s', (kind) => {
  const bucket = new Bucket();
  let folder: string;
  let store: BlobStore;

  beforeAll(() => bucket.start());
  afterAll(() => bucket.stop());

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'blobs-spec-'));
    store = openBlobStore({ BLOB_DIR: folder, ...(kind === 'bucket' && { BLOB_S3_URL: bucket.url() }) });
    expect(store).toBeInstanceOf(kind === 'bucket' ? S3BlobStore : FolderBlobStore);
  });

  afterEach(async () => {
    if (store instanceof S3BlobStore) await store.close();
    rmSync(folder, { recursive: true });
    bucket.objects.clear();
  });

  const names = (): readonly string[] =>
    kind === 'bucket' ? [...bucket.objects.keys()] : readdirSync(folder, { recursive: true }).map(String);

  it('come back as they went, whole and in parts', async () => {
    expect(await store.write('videos/gen-vid-1-a/0', piecesOf('hello ', 'there'), 'video/mp4')).toBe(11);
    expect(await text(await store.read('videos/gen-vid-1-a/0', 11))).toBe('hello there');
    expect(await text(await store.read('videos/gen-vid-1-a/0', 11, { first: 6, last: 8 }))).toBe('the');
  });

  it('are replaced by others of their name', async () => {
    await store.write('a', piecesOf('one'), 'video/mp4');
    await store.write('a', piecesOf('other'), 'video/mp4');
    expect(await text(await store.read('a', 5))).toBe('other');
    expect(names()).toHaveLength(1);
  });

  it('leave nothing behind when their source breaks off', async () => {
    await expect(store.write('a', piecesOf('half', new Error('gone')), 'video/mp4')).rejects.toThrow('gone');
    expect(names()).toEqual([]);
  });

  it('can be removed, and removed again', async () => {
    await store.write('a', piecesOf('one'), 'video/mp4');
    await store.remove('a');
    await store.remove('a');
    const gone = store.read('a', 3);
    await expect(gone).rejects.toBeInstanceOf(AppError);
    await expect(gone).rejects.toMatchObject({ code: 'not_found' });
  });

  it('are refused when another length was stored under their name', async () => {
    await store.write('a', piecesOf('one and more'), 'video/mp4');
    for (const bytes of [11, 13]) {
      await expect(store.read('a', bytes)).rejects.toMatchObject({ code: 'server', message: 'Internal error' });
    }
  });

  it.each(['../up', '/etc/passwd', 'a//b', '', 'a/../../b', 'a\0b', 'x'.repeat(81)])(
    'are never kept under %j',
    async (key) => {
      await expect(store.write(key, piecesOf('one'), 'video/mp4')).rejects.toThrow(TypeError);
      await expect(store.read(key, 3)).rejects.toThrow(TypeError);
    },
  );
});

describe(S3BlobStore.name, () => {
  it('tells nothing of its key when it is refused or away', async () => {
    const bucket = new Bucket();
    await bucket.start();
    const wrong = new S3BlobStore(bucket.url('another secret'));
    const refusals = [await wrong.read('a', 3).catch((error: unknown) => error)];
    await bucket.stop();
    refusals.push(await wrong.write('a', piecesOf('one'), 'video/mp4').catch((error: unknown) => error));
    await wrong.close();
    for (const refusal of refusals) {
      expect(refusal).toMatchObject({ code: 'server', message: 'Internal error' });
      expect(JSON.stringify(refusal) + String((refusal as AppError).internal)).not.toContain('another');
    }
  });
});

describe('a bucket that does not speak as S3 does', () => {
  let store: S3BlobStore;
  let server: TcpServer;
  let answer: (socket: Socket) => void;

  beforeAll(async () => {
    server = createTcpServer((socket) => {
      socket.on('error', () => undefined).once('data', () => answer(socket));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    store = new S3BlobStore(new Secret(`http://a:b@127.0.0.1:${(server.address() as AddressInfo).port}/films`));
  });

  afterAll(async () => {
    await store.close();
    server.close();
  });

  it('is given up for a head of thousands of lines', async () => {
    answer = (socket) => socket.write(`HTTP/1.1 200 OK\r\n${'a:\r\n'.repeat(3_000)}Content-Length: 2\r\n\r\nok`);
    await expect(store.read('a', 2)).rejects.toMatchObject({ code: 'server' });
  });

  it.each([
    ['fewer bytes', 'ab'],
    ['no bytes', ''],
    ['more bytes', 'abcdHTTP/1.1 200 OK\r\n\r\n'],
  ])('fails a stream of %s than it promised to store', async (_what, sent) => {
    for (const range of [undefined, { first: 4, last: 6 }]) {
      const status = range ? '206 Partial Content' : '200 OK';
      answer = (socket) => socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n${sent}`);
      const read: Buffer[] = [];
      const reading = async (): Promise<void> => {
        for await (const chunk of await store.read('a', range ? 9 : 3, range)) read.push(chunk as Buffer);
      };
      await expect(reading()).rejects.toMatchObject({ code: 'server' });
      expect(Buffer.concat(read).length).toBeLessThanOrEqual(3);
    }
  });

  it('has stored nothing when it answers before the upload has ended', async () => {
    answer = (socket) => {
      socket.pause();
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    };
    const film = Array.from({ length: 32 }, () => 'x'.repeat(1024 * 1024));
    await expect(store.write('a', piecesOf(...film), 'video/mp4')).rejects.toMatchObject({ code: 'server' });
  });

  it('does not make callers wait for the rest of an answer', async () => {
    const sendSlowly = (socket: Socket): void => {
      const timer = setInterval(() => socket.write('a'), 50);
      socket.once('close', () => clearInterval(timer));
    };
    const answerSlowly =
      (status: number) =>
      (socket: Socket): void => {
        socket.write(`HTTP/1.1 ${status} Words\r\nContent-Length: 100000\r\n\r\n`);
        sendSlowly(socket);
      };
    answer = answerSlowly(200);
    expect(await store.write('a', piecesOf('one'), 'video/mp4')).toBe(3);
    await store.remove('a');
    answer = answerSlowly(500);
    await expect(store.read('a', 3)).rejects.toMatchObject({ internal: 'the bucket of videos answered 500' });
  }, 10_000);
});
