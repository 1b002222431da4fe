import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { FakeUpstream } from '@libs/inference/testing';
import { catalogueOf } from '../support/catalogue';
import type { ApiClient } from '../support/client';
import { eventually } from '../support/eventually';
import { Installation } from '../support/installation';
import { Operator, type Tenant } from '../support/operator';
import { bytesOf, open } from '../e2e/raw-http';
import { report } from '../support/scale';

const BUDGET_MIB = 100;
const READERS = 8;
const CALLS = 40;
const messages = [{ role: 'user', content: 'Say something please.' }];

const answerOf = (content: string): string =>
  JSON.stringify({
    id: 'up',
    object: 'chat.completion',
    created: 1,
    model: 'theirs',
    usage: { prompt_tokens: 3, completion_tokens: 3, total_tokens: 6 },
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
  });

let upstream: FakeUpstream;
let installation: Installation;
let attacker: Tenant;
let client: ApiClient;
let largeAnswers = 0;

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  const large = answerOf('x'.repeat(30 * 1024 * 1024));
  const small = answerOf('hello');
  upstream.behaviour = (response, { path }) => {
    const isLarge = path.startsWith('/large');
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(isLarge ? large : small, () => (largeAnswers += isLarge ? 1 : 0));
  };
  const pricing = { prompt: '0.000000123', completion: '0.000000457' };
  const models = ['large', 'small'].map((name) => {
    const baseUrl = `${upstream.origin}/${name}/v1`;
    return { slug: `unread/${name}`, provider: `unread-${name}`, baseUrl, pricing };
  });
  installation = await Installation.start({
    catalogue: catalogueOf(models),
    apps: ['auth', 'gateway'],
    environmentOf: { gateway: { MEMORY_BUDGET_MIB: String(BUDGET_MIB) } },
  });
  attacker = await new Operator(installation).createTenant('attacker', '100');
  client = installation.client();
});

afterAll(async () => {
  await client?.close();
  await installation?.stop();
  await upstream?.close();
});

async function askAndNotRead(): Promise<Socket> {
  const body = JSON.stringify({ model: 'unread/large', messages, max_tokens: 8 });
  const socket = await open(installation.baseUrl);
  socket.pause();
  const headers = [
    ['Host', 'gateway'],
    ['Authorization', `Bearer ${attacker.apiKey}`],
    ['Content-Type', 'application/json'],
    ['Content-Length', String(body.length)],
  ] as const;
  socket.write(bytesOf({ method: 'POST', target: '/api/v1/chat/completions', headers: [...headers], body }));
  return socket;
}

describe('a tenant that does not read its answers', () => {
  it('keeps no other tenant from being served, though its answers are larger than the memory budget', async () => {
    const unread = await Promise.all(Array.from({ length: READERS }, askAndNotRead));
    const seen: number[] = [];
    let refused = 0;
    // Room is made within two seconds, for which calls wait. On a busy machine one may be refused; clients ask again.
    const call = async (): Promise<void> => {
      const { status, headers } = await client.chat({ model: 'unread/small', messages, max_tokens: 8 });
      if (status !== 503) return void seen.push(status);
      refused += 1;
      await delay(Number(headers['retry-after']) * 1_000);
      return call();
    };
    // Until the provider has sent more than there is room for, and well beyond.
    await eventually('the answers came', 60_000, async () => {
      await call();
      return largeAnswers >= READERS / 2 ? true : undefined;
    });
    for (let nth = 0; nth < CALLS; nth += 1) await call();
    for (const socket of unread) socket.destroy();
    report({ what: 'unread answers', READERS, BUDGET_MIB, largeAnswers, calls: seen.length, refused });
    expect(new Set(seen)).toEqual(new Set([200]));
    expect(refused).toBeLessThanOrEqual(CALLS / 10);
  });
});
