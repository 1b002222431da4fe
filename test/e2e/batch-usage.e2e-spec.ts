import { FakeUpstream, type Behaviour } from '@libs/inference/testing';
import { catalogueOf, type TestModel } from '../support/catalogue';
import type { ApiClient, BatchBody } from '../support/client';
import { eventually } from '../support/eventually';
import type { Installation } from '../support/installation';
import { giveBack, shareInstallation } from '../support/shared-installations';

/** The usage that a finished batch reports: the sum of what its provider reported line by line. */

const END_MS = 30_000;
const PRICING = { prompt: '0.000001', completion: '0.000002' };
const TERMINAL = new Set(['completed', 'failed', 'expired', 'cancelled']);

const MESSAGE_USAGE = {
  input_tokens: 100,
  output_tokens: 20,
  cache_read_input_tokens: 7,
  cache_creation_input_tokens: 30,
  cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 },
  output_tokens_details: { thinking_tokens: 6 },
  server_tool_use: { web_search_requests: 2, web_fetch_requests: 1 },
  service_tier: 'batch',
  speed: 'standard',
  iterations: [
    { type: 'message', model: 'letters-1', input_tokens: 100, output_tokens: 20, cache_creation: null },
    { type: 'compaction', input_tokens: 40, output_tokens: 4, cache_read_input_tokens: 3 },
  ],
};

const CHAT_USAGE = {
  prompt_tokens: 80,
  completion_tokens: 30,
  total_tokens: 110,
  prompt_tokens_details: { cached_tokens: 8, audio_tokens: 5, video_tokens: 12, file_tokens: 9 },
  completion_tokens_details: { reasoning_tokens: 4, audio_tokens: 2, image_tokens: 6 },
};

let upstream: FakeUpstream;
let installation: Installation;
let client: ApiClient;

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.behaviour = answer;
  const model = (slug: string, values: Partial<TestModel>): TestModel => ({
    slug: `tests/${slug}`,
    provider: slug,
    baseUrl: `${upstream.origin}/v1`,
    pricing: PRICING,
    ...values,
  });
  installation = await shareInstallation({
    catalogue: catalogueOf([model('letters', { protocol: 'anthropic', apis: ['messages'] }), model('talk', {})]),
  });
  client = installation.client();
}, 240_000);

afterAll(async () => {
  await client?.close();
  await giveBack(installation);
  await upstream?.close();
}, 240_000);

const answer: Behaviour = (response, { path, body }) => {
  const tier = body.includes('hurry') ? 'priority' : 'default';
  const said = path.endsWith('/messages') ? message() : completion(tier);
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(said));
};

const message = (): object => ({
  id: 'msg-1',
  type: 'message',
  role: 'assistant',
  model: 'letters-1',
  content: [{ type: 'text', text: 'Hello' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: MESSAGE_USAGE,
});

const completion = (tier: string): object => ({
  id: 'chat-1',
  object: 'chat.completion',
  created: 1,
  model: 'talk-1',
  service_tier: tier,
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hello' } }],
  usage: CHAT_USAGE,
});

async function run(model: string, endpoint: string, prompts: readonly string[]): Promise<BatchBody> {
  const requests = prompts.map((content, index) => ({
    custom_id: `line-${index}`,
    body: { messages: [{ role: 'user', content }], max_tokens: 64 },
  }));
  const { body, status, text } = await client.submitBatch({ endpoint, model: `tests/${model}`, requests });
  if (status !== 202) throw new Error(`the batch was answered with ${status}: ${text}`);
  return eventually(`the end of ${body.id}`, END_MS, async () => {
    const { body: batch } = await client.getBatch(body.id);
    return TERMINAL.has(batch.status) ? batch : undefined;
  });
}

const HELLO = ['Hello', 'Good day', 'Good night'];

const generation = (id: string, by: ApiClient = client) =>
  by.request<{ data: Record<string, unknown> }>('GET', `/generation?id=${id}`);
const content = (id: string, by: ApiClient = client) =>
  by.request<{ data: object }>('GET', `/generation/content?id=${id}`);

/** Of the only answered line. */
const idIn = (batch: BatchBody): string => String(batch.results?.[0]?.response?.body['id']);

describe('a line of a batch as a generation', () => {
  it('tells what became of it', async () => {
    const batch = await run('talk', '/v1/chat/completions', ['Hello']);
    const { status, body } = await generation(idIn(batch));
    expect(status).toBe(200);
    const { data } = body;
    expect(data).toMatchObject({
      id: idIn(batch),
      api_type: 'completions',
      model: 'tests/talk',
      provider_name: expect.any(String),
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      streamed: false,
      cancelled: false,
      finish_reason: 'stop',
      service_tier: 'default',
      tokens_prompt: 80,
      tokens_completion: 30,
      native_tokens_cached: 8,
      native_tokens_reasoning: 4,
      is_byok: false,
      upstream_inference_cost: null,
      request_id: expect.stringMatching(/^req-/),
      latency: null,
      generation_time: null,
      num_media_prompt: null,
      provider_responses: null,
    });
    expect([String(data['total_cost']), data['usage']]).toEqual([batch.usage?.cost, data['total_cost']]);
  });

  it('has every member that another generation has', async () => {
    const single = await client.request<{ id: string }>('POST', '/chat/completions', {
      model: 'tests/talk',
      messages: [{ role: 'user', content: 'Hello' }],
    });
    const other = await eventually('the call is settled', END_MS, async () => {
      const found = await generation(single.body.id);
      return found.status === 200 ? found.body.data : undefined;
    });
    const { body } = await generation(idIn(await run('letters', '/v1/messages', ['Hello'])));
    expect(Object.keys(body.data).sort()).toEqual(Object.keys(other).sort());
    expect(body.data).toMatchObject({ finish_reason: 'stop', native_finish_reason: 'end_turn', service_tier: 'batch' });
  });

  it('shows what was asked and answered, which is kept with the batch', async () => {
    const { status, body } = await content(idIn(await run('talk', '/v1/chat/completions', ['Hello'])));
    expect(status).toBe(200);
    expect(body.data).toEqual({
      input: { messages: [{ role: 'user', content: 'Hello' }] },
      output: { completion: 'Hello', reasoning: null },
      error: null,
    });
  });

  it('that failed is one that cost nothing and says why', async () => {
    upstream.behaviour = (response) => response.writeHead(400).end('{"error":{"message":"No","code":"no"}}');
    const batch = await run('talk', '/v1/chat/completions', ['Hello']);
    upstream.behaviour = answer;
    expect(batch.request_counts.failed).toBe(1);
    // Of a failed line nothing in the results says the id; it differs from an answered line's in the batch alone.
    const id = `gen-${batch.id.slice(0, -6)}000000`;
    expect((await generation(id)).body.data).toMatchObject({
      id,
      finish_reason: null,
      total_cost: 0,
      tokens_prompt: 0,
    });
    expect((await content(id)).body.data).toMatchObject({
      input: { messages: [{ role: 'user', content: 'Hello' }] },
      output: { completion: null },
      error: { message: expect.any(String), status: 400 },
    });
  });

  it('is not there for others, before it ran, or after its batch was deleted', async () => {
    const manager = installation.client(installation.seed.managementKey);
    const made = await manager.request<{ data: { id: string } }>('POST', '/workspaces', { name: 'Next', slug: 'next' });
    const key = { name: 'next', workspace_id: made.body.data.id };
    const neighbour = installation.client((await manager.request<{ key: string }>('POST', '/keys', key)).body.key);
    const batch = await run('talk', '/v1/chat/completions', ['Hello']);
    const id = idIn(batch);
    for (const ask of [generation, content]) {
      expect((await ask(id, neighbour)).status).toBe(404);
      expect((await ask(`${id.slice(0, -1)}7`)).status).toBe(404);
      expect((await ask(id)).status).toBe(200);
    }
    expect((await client.request('DELETE', `/batches/${batch.id}`)).status).toBe(200);
    for (const ask of [generation, content]) expect((await ask(id)).status).toBe(404);
    await Promise.all([manager.close(), neighbour.close()]);
  });
});

describe('the usage of a batch', () => {
  it('sums all that the provider of messages reported', async () => {
    const { usage } = await run('letters', '/v1/messages', HELLO);
    expect(usage).toEqual({
      // What was read from and written to the cache, and what compaction used, is part of the prompt.
      prompt_tokens: 3 * (100 + 7 + 30 + 40 + 3),
      completion_tokens: 3 * 24,
      total_tokens: 3 * 204,
      prompt_tokens_details: {
        cached_tokens: 3 * 10,
        cache_write_tokens: 3 * 30,
        audio_tokens: 0,
        file_tokens: 0,
        video_tokens: 0,
      },
      completion_tokens_details: { reasoning_tokens: 18, audio_tokens: 0, image_tokens: 0 },
      cache_creation: { ephemeral_5m_input_tokens: 30, ephemeral_1h_input_tokens: 60 },
      iterations: [
        {
          type: 'message',
          model: 'letters-1',
          input_tokens: 300,
          output_tokens: 60,
          cache_creation: null,
          cache_creation_input_tokens: 0,
          cache_read_input_tokens: 0,
        },
        {
          type: 'compaction',
          input_tokens: 120,
          output_tokens: 12,
          cache_creation: null,
          cache_creation_input_tokens: 0,
          cache_read_input_tokens: 9,
        },
      ],
      server_tool_use: {
        web_search_requests: 6,
        web_fetch_requests: 3,
        tool_calls_requested: 0,
        tool_calls_executed: 0,
      },
      service_tier: 'batch',
      speed: 'standard',
      cost: expect.any(String),
      cost_details: {
        upstream_inference_cost: null,
        upstream_inference_prompt_cost: expect.any(Number),
        upstream_inference_completions_cost: expect.any(Number),
      },
      is_byok: false,
    });
  });

  it('is the same for callers of chat, whose lines were translated', async () => {
    const { usage } = await run('letters', '/v1/chat/completions', HELLO);
    expect(usage).toMatchObject({
      cache_creation: { ephemeral_5m_input_tokens: 30, ephemeral_1h_input_tokens: 60 },
      server_tool_use: { web_search_requests: 6, web_fetch_requests: 3 },
      iterations: [{ type: 'message' }, { type: 'compaction' }],
      speed: 'standard',
    });
  });

  it('counts media by their kind', async () => {
    const { usage } = await run('talk', '/v1/chat/completions', HELLO);
    expect(usage).toMatchObject({
      prompt_tokens: 240,
      prompt_tokens_details: { cached_tokens: 24, audio_tokens: 15, video_tokens: 36, file_tokens: 27 },
      completion_tokens_details: { reasoning_tokens: 12, audio_tokens: 6, image_tokens: 18 },
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
      iterations: [],
      service_tier: 'default',
      speed: null,
    });
  });

  it('names a tier only if all lines have it', async () => {
    const { usage } = await run('talk', '/v1/chat/completions', [...HELLO, 'hurry']);
    expect(usage).toMatchObject({ service_tier: null });
  });
});
