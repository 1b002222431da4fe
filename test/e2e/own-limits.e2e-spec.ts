import type { ServerResponse } from 'node:http';
import { hashApiKey } from '@libs/contracts';
import { FakeUpstream, type ReceivedRequest } from '@libs/inference/testing';
import { LedgerRepository } from '@libs/persistence';
import { catalogueOf } from '../support/catalogue';
import { ApiClient } from '../support/client';
import { eventually } from '../support/eventually';
import { GreedyModel, GREEDY_PRICES } from '../support/greedy-model';
import { Installation } from '../support/installation';
import { settledBalanceUsd } from '../support/settled-balance';
import { Operator, type Tenant } from '../support/operator';

/** Providers that the operator has no key of. */
const CHAT = 'mistral';
const FILM = 'runway';
const TURN_TOKENS = 400;
const TURN_USD = TURN_TOKENS * Number(GREEDY_PRICES.completion);
const LINES = 120;
const LINE_USD = 4_096 * Number(GREEDY_PRICES.completion);
const SLOTS = 4;
const FILM_USD = 1;
const FEE = 0.05;

const model = new GreedyModel();
let upstream: FakeUpstream;
let installation: Installation;
let ledger: LedgerRepository;
let operator: Operator;
let films = 0;

function film(response: ServerResponse, { method, path }: ReceivedRequest): void {
  if (path.endsWith('/content')) {
    response.writeHead(200, { 'content-type': 'video/mp4' });
    response.end(Buffer.concat([Buffer.from('\0\0\0\x18ftypisom', 'latin1'), Buffer.alloc(4_084, 7)]));
    return;
  }
  const isNew = method === 'POST';
  const id = isNew ? `video_${(films += 1)}` : path.split('/').at(-1);
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ id, object: 'video', status: isNew ? 'queued' : 'completed' }));
}

function catalogue(): string {
  const parsed = JSON.parse(
    catalogueOf([
      { slug: 'own/chat', provider: CHAT, baseUrl: `${upstream.origin}/chat/v1`, pricing: GREEDY_PRICES },
      {
        slug: 'own/film',
        provider: FILM,
        baseUrl: `${upstream.origin}/film/v1`,
        apis: ['video'],
        pricing: GREEDY_PRICES,
      },
    ]),
  ) as { providers: Record<string, unknown>[]; models: { slug: string; endpoints: Record<string, unknown>[] }[] };
  for (const provider of parsed.providers) provider['api_key_env'] = 'NO_SUCH_KEY';
  const [endpoint] = parsed.models.find(({ slug }) => slug === 'own/film')!.endpoints;
  endpoint!['pricing'] = { video_second: String(FILM_USD / 4) };
  endpoint!['capabilities'] = {
    video: {
      durations: [4],
      resolutions: ['720p'],
      aspect_ratios: ['16:9'],
      generate_audio: false,
      frame_images: [],
      continuation: false,
    },
  };
  return JSON.stringify(parsed);
}

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.behaviour = (response, received) =>
    received.path.startsWith('/film') ? film(response, received) : model.answer(response, received);
  installation = await Installation.start({
    catalogue: catalogue(),
    environment: {
      BATCH_CREDIT_GRACE_SECONDS: '1',
      BATCH_CONCURRENCY: String(SLOTS),
      VIDEO_SUBMISSIONS_PER_MINUTE: '100000',
    },
  });
  ledger = new LedgerRepository(installation.database);
  operator = new Operator(installation);
}, 240_000);

afterAll(async () => {
  await installation?.stop();
  await upstream?.close();
}, 240_000);

/** Runs `work` with a key whose limit counts own keys. Returns what the limit counted once nothing is reserved. */
async function countedBy(
  { name, provider, limitUsd }: { readonly name: string; readonly provider: string; readonly limitUsd: number },
  work: (client: ApiClient) => Promise<void>,
): Promise<number> {
  const tenant = await operator.createTenant(name, '100');
  const manager = new ApiClient(installation.baseUrl, tenant.managementKey);
  const brought = await manager.request('POST', '/byok', { provider, key: `sk-own-${'a'.repeat(40)}` });
  const limit = { limit: limitUsd, include_byok_in_limit: true };
  // On a busy machine the owner of keys may answer too late; callers get a 503 then and ask again.
  const limited = await eventually('the limit is set', 60_000, async () => {
    const { status } = await manager.request('PATCH', `/keys/${hashApiKey(tenant.apiKey)}`, limit);
    return status === 503 ? undefined : status;
  });
  expect([brought.status, limited]).toEqual([200, 200]);
  const client = new ApiClient(installation.baseUrl, tenant.apiKey);
  await work(client);
  await settled(tenant);
  const used = await manager.request<{ data: { usage: number; byok_usage: number } }>(
    'GET',
    `/keys/${hashApiKey(tenant.apiKey)}`,
  );
  await Promise.all([manager.close(), client.close()]);
  expect(await operator.runHere('ledger', 'audit', '--full')).toMatchObject({ drift: '0' });
  const { usage, byok_usage: byok } = used.body.data;
  return usage + byok;
}

const settled = ({ organizationId }: Tenant): Promise<number> => settledBalanceUsd(ledger, organizationId, 120_000);

const messages = [{ role: 'user', content: 'Hi' }];

describe('the limit of a key that counts own keys', () => {
  it('ends a loop of turns before what they cost by list exceeds it by more than one', async () => {
    const limitUsd = 5 * TURN_USD;
    const counted = await countedBy({ name: 'Loop', provider: CHAT, limitUsd }, async (client) => {
      const loop = { tools: [{ type: 'sluice:datetime' }], max_tool_calls: 12, max_tokens: TURN_TOKENS };
      const { status } = await client.request('POST', '/chat/completions', { model: 'own/chat', messages, ...loop });
      expect(status).toBe(200);
    });
    expect(counted).toBeGreaterThan(TURN_USD);
    expect(counted).toBeLessThanOrEqual(limitUsd + TURN_USD * (1 + FEE));
  }, 240_000);

  it('ends a batch whose lines cost more than estimated', async () => {
    const limitUsd = Number(((LINES / 3) * LINE_USD).toFixed(6));
    const counted = await countedBy({ name: 'Batch', provider: CHAT, limitUsd }, async (client) => {
      const requests = Array.from({ length: LINES }, (_, line) => ({ custom_id: `line-${line}`, body: { messages } }));
      const batch = { endpoint: '/v1/chat/completions', model: 'own/chat', requests };
      const accepted = await client.request<{ id: string }>('POST', '/batches', batch);
      expect(accepted.status).toBe(202);
      const ended = await eventually('the batch ends', 120_000, async () => {
        const { body } = await client.request<{ status: string; request_counts: { failed: number } }>(
          'GET',
          `/batches/${accepted.body.id}?results=false`,
        );
        return body.status === 'completed' ? body : undefined;
      });
      expect(ended.request_counts.failed).toBeGreaterThan(0);
    });
    expect(counted).toBeGreaterThan(0);
    expect(counted).toBeLessThanOrEqual(limitUsd + 9 * SLOTS * LINE_USD * (1 + FEE));
  }, 240_000);

  it('admits as many videos at once as it covers', async () => {
    const limitUsd = 2 * FILM_USD * (1 + FEE);
    const counted = await countedBy({ name: 'Film', provider: FILM, limitUsd }, async (client) => {
      const asked = { model: 'own/film', prompt: 'A heron lands.', duration: 4 };
      const answers = await Promise.all(Array.from({ length: 6 }, () => client.request('POST', '/videos', asked)));
      expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
        202, 202, 402, 402, 402, 402,
      ]);
    });
    expect(counted).toBeCloseTo(limitUsd, 9);
  }, 240_000);
});
