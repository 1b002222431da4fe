import { FakeUpstream } from '@libs/inference/testing';
import { catalogueOf, type TestModel } from '../support/catalogue';
import type { ApiClient, BatchBody } from '../support/client';
import { eventually } from '../support/eventually';
import type { Installation } from '../support/installation';
import { giveBack, shareInstallation } from '../support/shared-installations';

/** What a batch says about fields of its lines that no provider received. */

const END_MS = 30_000;
const TERMINAL = new Set(['completed', 'failed', 'expired', 'cancelled']);
const CHAT = '/v1/chat/completions';
const MESSAGES = [{ role: 'user', content: 'Hello' }];
const ANSWER = {
  id: 'chat-1',
  object: 'chat.completion',
  created: 1,
  model: 'talk-1',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hello' } }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};

let upstream: FakeUpstream;
let installation: Installation;
let client: ApiClient;

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.answers(200, JSON.stringify(ANSWER));
  const talk: TestModel = {
    slug: 'tests/talk',
    provider: 'talk',
    baseUrl: `${upstream.origin}/v1`,
    pricing: { prompt: '0.000001', completion: '0.000002' },
  };
  installation = await shareInstallation({ catalogue: catalogueOf([talk]) });
  client = installation.client();
}, 240_000);

afterAll(async () => {
  await client?.close();
  await giveBack(installation);
  await upstream?.close();
}, 240_000);

async function run(endpoint: string, ...bodies: readonly Readonly<Record<string, unknown>>[]): Promise<BatchBody> {
  const requests = bodies.map((body, index) => ({ custom_id: `line-${index}`, body }));
  const { body, status, text } = await client.submitBatch({ endpoint, model: 'tests/talk', requests });
  if (status !== 202) throw new Error(`the batch was answered with ${status}: ${text}`);
  return eventually(`the end of ${body.id}`, END_MS, async () => {
    const { body: batch } = await client.getBatch(body.id);
    return TERMINAL.has(batch.status) ? batch : undefined;
  });
}

const bodiesOf = ({ results }: BatchBody): readonly Record<string, unknown>[] =>
  (results ?? []).map(({ response }) => response?.body ?? {});

it('names the fields of a line that were left out or changed, in the metadata of its result', async () => {
  const lossy = { messages: MESSAGES, max_tokens: 10_000, reasoning_effort: 'high' };
  const batch = await run(CHAT, lossy, { messages: MESSAGES, max_tokens: 64 });
  const [reported, plain] = bodiesOf(batch);
  expect(reported).toMatchObject({
    choices: [{ message: { content: 'Hello' } }],
    sluice_metadata: {
      attempt: 1,
      endpoints: { available: [{ model: 'tests/talk', provider: 'Test talk', selected: true }], total: 1 },
      requested: 'tests/talk',
      strategy: 'direct',
      is_byok: false,
      region: null,
      translation: { from: 'chat', to: 'chat', dropped: ['reasoning_effort'], approximated: ['max_tokens'] },
    },
  });
  expect(plain).not.toHaveProperty('sluice_metadata');
});

it.each([
  ['/v1/responses', { input: 'Hello', reasoning: { effort: 'high' } }, 'responses', ['reasoning']],
  ['/v1/messages', { messages: MESSAGES, max_tokens: 5, top_k: 3 }, 'messages', ['top_k']],
] as const)('names them on %s too', async (endpoint, body, from, dropped) => {
  const [reported] = bodiesOf(await run(endpoint, body));
  expect(reported).toMatchObject({ sluice_metadata: { translation: { from, to: 'chat', dropped } } });
});

it('shows the trace, the session and the user of a line with its generation', async () => {
  const named = { messages: MESSAGES, trace: { trace_name: 'nightly' }, session_id: 's-1', user: 'someone' };
  const [answer] = bodiesOf(await run(CHAT, named));
  const { body } = await client.request<{ data: object }>('GET', `/generation?id=${String(answer?.['id'])}`);
  expect(body.data).toMatchObject({
    trace: { trace_name: 'nightly' },
    session_id: 's-1',
    external_user: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
});

it.each([
  [CHAT, { messages: MESSAGES }, { type: 'web_search' }],
  ['/v1/responses', { input: 'Hello' }, { type: 'web_search' }],
  ['/v1/messages', { messages: MESSAGES, max_tokens: 5 }, { type: 'web_search_20250305', name: 'web_search' }],
])('names the line of %s with a search, which a batch cannot make, and runs nothing', async (endpoint, body, tool) => {
  upstream.requests.length = 0;
  const batch = await run(endpoint, body, { ...body, tools: [tool] });
  expect(batch).toMatchObject({ status: 'failed', results: [] });
  expect(batch.error?.message).toContain(`requests[1].body: tools[0] (${tool.type}) `);
  expect(upstream.requests).toEqual([]);
});
