import { FakeUpstream } from '@libs/inference/testing';
import { catalogueOf, type TestModel } from '../support/catalogue';
import type { ApiClient, BatchBody } from '../support/client';
import { eventually } from '../support/eventually';
import { Installation } from '../support/installation';

/** What a finished batch tells of its usage (interface §2.4): the sum of what its provider reported line by line. */

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
  upstream.behaviour = (response, { path, body }) => {
    const tier = body.includes('hurry') ? 'priority' : 'default';
    const answer = path.endsWith('/messages') ? message() : completion(tier);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  };
  const model = (slug: string, values: Partial<TestModel>): TestModel => ({
    slug: `tests/${slug}`,
    provider: slug,
    baseUrl: `${upstream.origin}/v1`,
    pricing: PRICING,
    ...values,
  });
  installation = await Installation.start({
    catalogue: catalogueOf([model('letters', { protocol: 'anthropic', apis: ['messages'] }), model('talk', {})]),
  });
  client = installation.client();
}, 90_000);

afterAll(async () => {
  await client?.close();
  await installation?.stop();
  await upstream?.close();
}, 60_000);

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
