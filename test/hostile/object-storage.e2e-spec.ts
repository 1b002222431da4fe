import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { FakeUpstream } from '@libs/inference/testing';
import { open } from '../e2e/raw-http';
import { catalogueOf } from '../support/catalogue';
import type { ApiClient } from '../support/client';
import { eventually } from '../support/eventually';
import { Installation } from '../support/installation';

const FILM = Buffer.concat([Buffer.from('\0\0\0\x18ftypisom', 'latin1'), Buffer.alloc(4_084, 7)]);
const CAPABILITIES = { durations: [2], resolutions: ['480p'], aspect_ratios: ['16:9'], generate_audio: false };
const PRICING = { prompt: '0', completion: '0' };
const SECRET = 'bucket-secret-that-no-answer-shows';
const FORGED = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged';
const CONTENT_MS = 60_000;
const STORED_MS = 50_000;
const SLOW_HEAD_MS = 1_000;

type Serve = (response: ServerResponse, request: IncomingMessage) => void;

const send =
  (body: Buffer | string, status = 200, headers: Record<string, string> = {}): Serve =>
  (response) =>
    void response.writeHead(status, headers).end(body);

/** Sends a byte now and then, without an end. */
const drip =
  (status: number): Serve =>
  (response) => {
    response.writeHead(status).write('a');
    const timer = setInterval(() => response.write('a'), 100);
    response.once('close', () => clearInterval(timer));
  };

const flood: Serve = (response) => {
  const write = (): void => {
    while (response.write(Buffer.alloc(65_536, 65)));
  };
  response.writeHead(200).on('drain', write);
  write();
};

const afterBody =
  (serve: Serve): Serve =>
  (response, request) =>
    void request.resume().once('end', () => serve(response, request));

let get: Serve = send(FILM);
let put: Serve = afterBody(send(''));
let upstream: FakeUpstream;
let bucket: Server;
let installation: Installation;
let client: ApiClient;

function provider(response: ServerResponse, method: string, path: string): void {
  response.setHeader('content-type', 'application/json');
  const id = method === 'POST' ? 'video_1' : path.split('/').at(-1);
  if (id === 'content') response.writeHead(200, { 'content-type': 'video/mp4' }).end(FILM);
  else response.end(JSON.stringify({ id, object: 'video', status: method === 'POST' ? 'queued' : 'completed' }));
}

function catalogue(port: number): string {
  const baseUrl = `http://127.0.0.1:${port}/v1`;
  const parsed = JSON.parse(
    catalogueOf([{ slug: 'vid/steady', provider: 'vid', baseUrl, apis: ['video'], pricing: PRICING }]),
  ) as { models: { endpoints: { pricing: object; capabilities: object }[] }[] };
  Object.assign(parsed.models[0]!.endpoints[0]!, {
    pricing: { video_second: '0.01' },
    capabilities: { video: CAPABILITIES },
  });
  return JSON.stringify(parsed);
}

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.behaviour = (response, { method, path }) => provider(response, method, path);
  bucket = createServer((request, response) => (request.method === 'PUT' ? put : get)(response, request));
  await once(bucket.listen(0, '127.0.0.1'), 'listening');
  const { port } = bucket.address() as AddressInfo;
  installation = await Installation.start({
    catalogue: catalogue(Number(new URL(upstream.origin).port)),
    apps: ['auth', 'gateway', 'credentials', 'video-worker'],
    environment: {
      BLOB_S3_URL: `http://KEY:${SECRET}@127.0.0.1:${port}/films/kept`,
      VIDEO_READS_PER_MINUTE: '100000',
    },
  });
  client = installation.client();
}, 240_000);

afterAll(async () => {
  await client?.close();
  await installation?.stop();
  await upstream?.close();
  bucket?.closeAllConnections();
  bucket?.close();
});

async function film(): Promise<string> {
  const asked = { model: 'vid/steady', prompt: 'A heron lands.', duration: 2 };
  return (await client.request<{ id: string }>('POST', '/videos', asked)).body.id;
}

const untilStored = (id: string): Promise<true> =>
  eventually('the film is stored', STORED_MS, async () => {
    const { body } = await client.request<{ status: string }>('GET', `/videos/${id}`);
    return body.status === 'completed' || undefined;
  });

/** Asks for a film and then, on the same connection, for the key. Returns what arrives until it is closed. */
async function readTwo(id: string, range: string): Promise<string> {
  const socket: Socket = await open(installation.baseUrl);
  const headers = `Host: x\r\nAuthorization: Bearer ${installation.seed.apiKey}\r\n`;
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  const closed = once(socket, 'close');
  socket.setTimeout(CONTENT_MS, () => socket.destroy());
  socket.write(`GET /api/v1/videos/${id}/content HTTP/1.1\r\n${headers}${range}\r\n`);
  socket.write(`GET /api/v1/key HTTP/1.1\r\n${headers}Connection: close\r\n\r\n`);
  const giveUp = setTimeout(() => socket.destroy(), CONTENT_MS);
  await closed;
  clearTimeout(giveUp);
  return Buffer.concat(chunks).toString('latin1');
}

/** Returns what follows the bytes that the first answer has promised, or null if it has fewer. */
function restOf(text: string): string | null {
  const start = text.indexOf('\r\n\r\n') + 4;
  const end = start + Number(/content-length: (\d+)/i.exec(text)?.[1]);
  return text.length < end ? null : text.slice(end);
}

describe('a bucket of films that is broken or hostile', () => {
  let id: string;

  beforeAll(async () => {
    id = await film();
    await untilStored(id);
  });

  const part = 'Range: bytes=0-9\r\n';

  it.each<[string, Serve, string]>([
    ['ends early', send(FILM.subarray(0, 100), 200, { 'transfer-encoding': 'chunked' }), ''],
    ['says that it has less', send(FILM.subarray(0, 100)), ''],
    ['has nothing', send(''), ''],
    ['goes on after the film', send(Buffer.concat([FILM, Buffer.from(FORGED)]), 200), ''],
    ['goes on in chunks', send(`${FILM.toString('latin1')}${FORGED}`, 200, { 'transfer-encoding': 'chunked' }), ''],
    ['never ends', flood, ''],
    ['answers a part with the whole', send(FILM, 206), part],
    ['answers a part with less', send('ab', 206, { 'transfer-encoding': 'chunked' }), part],
  ])('puts no byte in the place of another answer when it %s', async (_how, serve, range) => {
    get = serve;
    const text = await readTwo(id, range);
    expect(text).not.toContain('forged');
    const rest = restOf(text);
    // Either the answer was cut, or the next one follows at once.
    if (rest !== null && rest !== '') expect(rest).toMatch(/^HTTP\/1\.1 200 OK\r\ncontent-type: application\/json/);
    const [head = '', ...others] = text.split('HTTP/1.1 ').slice(1);
    if (rest === null) expect(others).toEqual([]);
    else expect(head).toMatch(/^500 /);
  });

  it.each<[string, Serve]>([
    ['fails', send('<Error><Code>Internal</Code></Error>', 500)],
    ['refuses', send(`<Error><Code>SignatureDoesNotMatch</Code><Key>${SECRET}</Key></Error>`, 403)],
    ['redirects', send('', 307, { location: 'http://169.254.169.254/latest/meta-data' })],
    ['fails byte by byte', drip(500)],
    ['refuses byte by byte', drip(403)],
  ])('is a 500 in the form of the interface when it %s', async (_how, serve) => {
    get = serve;
    const answer = await client.request<{ error: object }>('GET', `/videos/${id}/content`);
    expect(answer.status).toBe(500);
    expect(answer.body.error).toEqual({ code: 500, message: 'Internal error', metadata: { error_type: 'server' } });
  });

  it('keeps no place for callers that left while it was silent', async () => {
    get = (response) => void setTimeout(() => response.writeHead(200).end(FILM), SLOW_HEAD_MS);
    const url = `${installation.baseUrl}/videos/${id}/content`;
    const headers = { authorization: `Bearer ${installation.seed.apiKey}` };
    // Some get no place, and 503.
    const leave = (): Promise<unknown> =>
      fetch(url, { headers, signal: AbortSignal.timeout(SLOW_HEAD_MS / 2) }).catch(() => null);
    const ends = [];
    for (let round = 0; round < 3; round += 1) ends.push(...(await Promise.all(Array.from({ length: 40 }, leave))));
    expect(ends.filter((end) => end === null).length).toBeGreaterThan(20);
    get = send(FILM);
    // On a busy machine some of those that left are still on their way out.
    const opened = await eventually('films are sent again, many at once', STORED_MS, async () => {
      const answers = await Promise.all(Array.from({ length: 20 }, () => fetch(url, { headers })));
      const films = await Promise.all(answers.map((answer) => answer.arrayBuffer()));
      return answers.every(({ status }) => status === 200) ? films : undefined;
    });
    for (const film of opened) expect(film.byteLength).toBe(FILM.length);
  });

  it('has a film stored again after each failure, and waits for no rest of an answer', async () => {
    const failures = [
      send('<Error/>', 500),
      send('', 301, { location: 'http://169.254.169.254/' }),
      drip(503),
      drip(200),
    ];
    for (const serve of failures) {
      put = afterBody((response, request) => {
        put = afterBody(send(''));
        serve(response, request);
      });
      await untilStored(await film());
    }
    for (const app of ['gateway', 'video-worker']) expect(installation.lastLines(app).join()).not.toContain(SECRET);
    expect((await fetch(`${new URL(installation.baseUrl).origin}/health/ready`)).status).toBe(200);
  });
});
