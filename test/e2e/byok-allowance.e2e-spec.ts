import { FakeUpstream } from '@libs/inference/testing';
import { catalogueOf } from '../support/catalogue';
import { answerJson, CHAT_ANSWER } from '../support/chat-answer';
import type { ApiClient } from '../support/client';
import { eventually } from '../support/eventually';
import { Installation } from '../support/installation';
import { Operator } from '../support/operator';

const MODEL = 'byok/talker';
/** By list price a call costs 0.00002 dollars; the fee is 5 per cent of it. */
const FREE = '0.00005';

let upstream: FakeUpstream;
let installation: Installation;
let client: ApiClient;

function catalogue(): string {
  const pricing = { prompt: '0.000001', completion: '0.000002' };
  const endpoint = { provider: 'mistral', upstream_model: 'talk', apis: ['chat'], pricing };
  const provider = { slug: 'mistral', name: 'Mistral', base_url: `${upstream.origin}/v1`, protocol: 'openai' };
  return JSON.stringify({
    ...(JSON.parse(catalogueOf([])) as object),
    providers: [{ ...provider, api_key_env: 'NOBODY_SET_THIS' }],
    models: [{ slug: MODEL, name: 'Talker', endpoints: [endpoint] }],
  });
}

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.behaviour = (response) => answerJson(response, CHAT_ANSWER);
  const allowance = { BYOK_FREE_USD_PER_MONTH: FREE };
  installation = await Installation.start({
    catalogue: catalogue(),
    apps: ['auth', 'batch-worker', 'gateway', 'credentials'],
    environmentOf: { gateway: allowance, 'batch-worker': allowance },
  });
  client = installation.client();
}, 240_000);

afterAll(async () => {
  await client?.close();
  await installation?.stop();
  await upstream?.close();
});

interface CallBody {
  readonly id: string;
  readonly usage: { readonly cost: string };
}

const WORDS = { messages: [{ role: 'user', content: 'Hello?' }], max_tokens: 8 };

/** What the books charged for a call, and what its answer said. */
async function call(): Promise<{ readonly said: string; readonly charged: string }> {
  // Without a key that is felt there is no provider, and nothing to count.
  const { body } = await eventually('there is an answer', 5_000, async () => {
    const answer = await client.request<CallBody>('POST', '/chat/completions', { model: MODEL, ...WORDS });
    return answer.status === 404 ? undefined : answer;
  });
  const charged = await eventually('the call is on the books', 20_000, async () => {
    const row = await installation.database.firstRow<{ state: string }>({
      sql: 'SELECT state FROM generations WHERE id = $1',
      values: [body.id],
    });
    if (row?.state !== 'settled') return undefined;
    const entry = await client.request<{ data: { total_cost: string } }>('GET', `/generation?id=${body.id}`);
    return String(Number(entry.body.data.total_cost));
  });
  return { said: String(Number(body.usage.cost)), charged };
}

async function batch(): Promise<object> {
  const requests = ['one', 'two'].map((custom_id) => ({ custom_id, body: WORDS }));
  const { status, body } = await client.submitBatch({ endpoint: '/v1/chat/completions', model: MODEL, requests });
  expect(status).toBe(202);
  return eventually('the batch is done', 30_000, async () => {
    const { body: state } = await client.getBatch(body.id);
    return state.status === 'completed' ? state : undefined;
  });
}

describe('the allowance for own keys', () => {
  it('spares calls and lines of batches their fee until it is used up', async () => {
    const manager = installation.client(installation.seed.managementKey);
    const brought = await manager.request('POST', '/byok', { key: `sk-own-${'k'.repeat(24)}`, provider: 'mistral' });
    expect(brought.status).toBe(200);
    const fee = '0.000001';
    expect(await call()).toEqual({ said: fee, charged: '0' });
    expect(await batch()).toMatchObject({
      usage: { is_byok: true, cost: '5e-7', cost_details: { upstream_inference_cost: 0.00004 } },
    });
    expect(await call()).toEqual({ said: fee, charged: fee });
    const { body } = await manager.request<{ data: { total_usage: string } }>('GET', '/credits');
    expect(Number(body.data.total_usage)).toBe(0.0000015);
    expect(await new Operator(installation).runHere('ledger', 'audit')).toMatchObject({ drift: '0' });
    await manager.close();
  });
});
