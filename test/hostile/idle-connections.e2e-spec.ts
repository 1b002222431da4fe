import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { catalogueOf } from '../support/catalogue';
import { Installation } from '../support/installation';
import { report } from '../support/scale';

const MODEL = {
  slug: 'hostile/none',
  provider: 'openai',
  baseUrl: 'http://127.0.0.1:9/v1',
  pricing: { prompt: '0', completion: '0' },
};
const MOST = 200;
const ADDRESSES = [2, 3, 4, 5, 6, 7, 8].map((last) => `127.0.0.${last}`);

let installation: Installation;
const idle: Socket[] = [];

beforeAll(async () => {
  installation = await Installation.start({
    catalogue: catalogueOf([MODEL]),
    apps: ['auth', 'gateway'],
    environmentOf: { gateway: { MAX_CONNECTIONS: String(MOST) } },
  });
});

afterAll(async () => {
  for (const socket of idle) socket.destroy();
  await installation?.stop();
});

function open(localAddress: string): Socket {
  const { hostname, port } = new URL(installation.baseUrl);
  return connect({ host: hostname, port: Number(port), localAddress }).on('error', () => undefined);
}

/** Holds connections that had their answers, as keep-alive clients do; resolves when the last one was answered or closed. */
async function fill(localAddress: string): Promise<void> {
  const settled = Array.from({ length: MOST }, async () => {
    const socket = open(localAddress);
    idle.push(socket);
    socket.write('GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n');
    await Promise.race([once(socket, 'data'), once(socket, 'close')]).catch(() => undefined);
  });
  await Promise.all(settled);
}

/** Of the answer on a connection of its own; null for one that was closed without any. */
async function statusOf(path: string): Promise<number | null> {
  const socket = open('127.0.0.1');
  let answer = '';
  socket.on('data', (data: Buffer) => (answer += data.toString('latin1')));
  const { apiKey } = installation.seed;
  socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer ${apiKey}\r\n\r\n`);
  await once(socket, 'close');
  return answer === '' ? null : Number(answer.slice(9, 12));
}

it('leaves probes and callers alone while seven addresses hold idle connections', async () => {
  const statuses = new Map<string, number>();
  for (const address of ADDRESSES) await fill(address);
  for (let round = 0; round < 30; round += 1) {
    for (const path of ['/health/ready', '/api/v1/key']) {
      const seen = `${path} ${await statusOf(path)}`;
      statuses.set(seen, (statuses.get(seen) ?? 0) + 1);
    }
  }
  report({ what: 'idle connections', MOST, addresses: ADDRESSES.length, statuses: Object.fromEntries(statuses) });
  expect(new Set(statuses.keys())).toEqual(new Set(['/health/ready 200', '/api/v1/key 200']));
});

it('closes no connection for others on which a request of a known caller is arriving', async () => {
  for (const socket of idle.splice(0)) socket.destroy();
  const [greedy] = ADDRESSES;
  const calling = open(greedy!);
  let answer = '';
  calling.on('data', (data: Buffer) => (answer += data.toString('latin1')));
  const body = JSON.stringify({ model: MODEL.slug });
  const headers = [
    'Host: a',
    'Connection: close',
    `Content-Length: ${body.length}`,
    'Expect: 100-continue',
    'Content-Type: application/json',
  ];
  headers.push(`Authorization: Bearer ${installation.seed.apiKey}`);
  calling.write(`POST /api/v1/chat/completions HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`);
  // The key has been found valid, and the body is waited for.
  await once(calling, 'data');
  expect(answer).toMatch(/^HTTP\/1\.1 100 /);
  calling.write(body.slice(0, 5));
  // The oldest connection of the address with the most is the first that would be closed.
  for (const address of ADDRESSES) await fill(address);
  for (let round = 0; round < 30; round += 1) expect(await statusOf('/health/ready')).toBe(200);
  calling.write(body.slice(5));
  await once(calling, 'close');
  expect(answer).toMatch(/\r\n\r\nHTTP\/1\.1 400 /);
});
