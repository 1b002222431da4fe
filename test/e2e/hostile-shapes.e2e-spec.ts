import type { ServerResponse } from 'node:http';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { estimatePromptTokens } from '@libs/inference';
import { FakeUpstream, type ReceivedRequest } from '@libs/inference/testing';
import { LedgerRepository } from '@libs/persistence';
import { catalogueOf } from '../support/catalogue';
import { eventually } from '../support/eventually';
import { hostileShapes, PICTURE_TOKENS, type HostileShape } from '../support/hostile-shapes';
import { Installation } from '../support/installation';
import { Operator, type Tenant } from '../support/operator';
import type { UpstreamDialect } from '../support/provider-scripts';
import { say } from '../support/say';

const CREDIT_USD = 0.05;
const PRICES = { prompt: '0.000015', completion: '0.000075' };
const APIS: readonly UpstreamDialect[] = ['chat', 'responses', 'messages'];
const PATHS: Readonly<Record<UpstreamDialect, string>> = {
  chat: '/chat/completions',
  responses: '/responses',
  messages: '/messages',
};
const SHAPES = hostileShapes(500);
const AT_ONCE = 4;
const TOOL_CALLS = 12;
const ENDPOINTS: Readonly<Record<UpstreamDialect, string>> = {
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  messages: '/v1/messages',
};
/** Members that are no prompt. */
const SETTINGS = new Set([
  'model',
  'stream',
  'max_tokens',
  'max_output_tokens',
  'n',
  'stream_options',
  'store',
  'metadata',
]);

let upstream: FakeUpstream;
let installation: Installation;
let tenant: Tenant;
let ledger: LedgerRepository;
/** The most by which one request cost more than what its provider was sent is estimated at. */
let largestOverageUsd = 0;

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.behaviour = answer;
  const models = APIS.map((api) => ({
    slug: `hostile/${api}`,
    provider: `hostile-${api}`,
    protocol: api === 'messages' ? 'anthropic' : 'openai',
    baseUrl: `${upstream.origin}/${api}/v1`,
    apis: [api],
    pricing: PRICES,
  }));
  const catalogue = JSON.parse(catalogueOf(models)) as { models: { architecture: { input_modalities: string[] } }[] };
  for (const { architecture } of catalogue.models) architecture.input_modalities = ['text', 'image'];
  installation = await Installation.start({
    catalogue: JSON.stringify(catalogue),
    apps: ['auth', 'gateway', 'batch-worker'],
    environment: { BATCH_CREDIT_GRACE_SECONDS: '1' },
  });
  tenant = await new Operator(installation).createTenant('Hostile', null);
  ledger = new LedgerRepository(installation.database);
}, 240_000);

afterAll(async () => {
  await installation?.stop();
  await upstream?.close();
}, 240_000);

/** A provider whose model says as much as it may, and that counts every text and picture. */
function answer(response: ServerResponse, { path, body }: ReceivedRequest): void {
  const api = path.split('/')[1] as UpstreamDialect;
  const request = JSON.parse(body) as Record<string, unknown>;
  const cap = Number(
    request['max_tokens'] ?? request['max_output_tokens'] ?? request['max_completion_tokens'] ?? 4_096,
  );
  const counts = { prompt: promptTokens(request), completion: cap * Number(request['n'] ?? 1) };
  const overageUsd = (counts.prompt - estimatePromptTokens(Buffer.from(body))) * Number(PRICES.prompt);
  largestOverageUsd = Math.max(largestOverageUsd, overageUsd);
  if (request['stream'] === true) {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(streamOf(api, counts));
  } else {
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify(wholeOf(api, counts, wantsTool(request))));
  }
}

/** The model asks for the tool of the gateway as long as it is offered, up to a number of turns. */
function wantsTool({ tools, messages }: Readonly<Record<string, unknown>>): boolean {
  const turns = JSON.stringify(messages ?? []).split('"role":"tool"').length - 1;
  return JSON.stringify(tools ?? []).includes('"name":"datetime"') && turns < TOOL_CALLS;
}

function promptTokens(request: Readonly<Record<string, unknown>>): number {
  const read = Object.entries(request).filter(([name]) => !SETTINGS.has(name));
  return read.reduce((sum, [name, value]) => sum + tokensOf(value, name), 0);
}

/** Conversations are taken apart, all else is read as JSON. */
function tokensOf(value: unknown, root: string): number {
  if (!['messages', 'input', 'system'].includes(root)) return encode(JSON.stringify(value)).length;
  if (typeof value === 'string') return encode(value).length;
  if (Array.isArray(value)) return value.reduce<number>((sum, one) => sum + tokensOf(one, root), 0);
  if (typeof value !== 'object' || value === null) return 0;
  const { type } = value as { type?: string };
  if (type !== undefined && type.includes('image')) return PICTURE_TOKENS;
  return Object.values(value).reduce<number>((sum, one) => sum + tokensOf(one, root), 0);
}

interface Counts {
  readonly prompt: number;
  readonly completion: number;
}

const CHAT = { id: 'up', created: 1, model: 'm' };

function usageOf(api: UpstreamDialect, { prompt, completion }: Counts): object {
  const total_tokens = prompt + completion;
  return api === 'chat'
    ? { prompt_tokens: prompt, completion_tokens: completion, total_tokens }
    : { input_tokens: prompt, output_tokens: completion, total_tokens };
}

const TOOL_CALL = { id: 'call_1', type: 'function', function: { name: 'datetime', arguments: '{}' } };

function wholeOf(api: UpstreamDialect, counts: Counts, callsTool = false): object {
  const usage = usageOf(api, counts);
  if (api === 'chat') {
    const choice = callsTool
      ? { message: { content: null, tool_calls: [TOOL_CALL] }, finish_reason: 'tool_calls' }
      : { message: { content: 'x' }, finish_reason: 'length' };
    return { ...CHAT, object: 'chat.completion', usage, choices: [{ index: 0, ...choice }] };
  }
  if (api === 'messages') {
    return {
      id: 'up',
      type: 'message',
      role: 'assistant',
      content: [{ type: 'text', text: 'x' }],
      stop_reason: 'max_tokens',
      usage,
    };
  }
  return responseOf(usage);
}

function responseOf(usage: object | null): object {
  const message = {
    id: 'm',
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: 'x', annotations: [] }],
  };
  return {
    id: 'up',
    object: 'response',
    status: usage === null ? 'in_progress' : 'completed',
    output: usage === null ? [] : [message],
    usage,
  };
}

function streamOf(api: UpstreamDialect, counts: Counts): string {
  const usage = usageOf(api, counts);
  const chunk = (members: object): object => ({ ...CHAT, object: 'chat.completion.chunk', ...members });
  const events: Readonly<Record<UpstreamDialect, readonly object[]>> = {
    chat: [
      chunk({ choices: [{ index: 0, delta: { content: 'x' }, finish_reason: null }] }),
      chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'length' }], usage }),
    ],
    responses: [
      { type: 'response.created', response: responseOf(null) },
      { type: 'response.output_text.delta', output_index: 0, content_index: 0, item_id: 'm', delta: 'x' },
      { type: 'response.completed', response: responseOf(usage) },
    ],
    messages: [
      {
        type: 'message_start',
        message: { ...(wholeOf('messages', counts) as object), content: [], stop_reason: null },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'x' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'max_tokens' }, usage },
      { type: 'message_stop' },
    ],
  };
  const lines = events[api].map((event) => {
    const { type } = event as { type?: string };
    return `${type === undefined ? '' : `event: ${type}\n`}data: ${JSON.stringify(event)}\n\n`;
  });
  return `${lines.join('')}${api === 'messages' ? '' : 'data: [DONE]\n\n'}`;
}

const post = (path: string, body: object, signal?: AbortSignal): Promise<Response> =>
  fetch(installation.baseUrl + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${tenant.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    ...(signal !== undefined && { signal }),
  });

async function send({ api, body, leaves }: HostileShape): Promise<number> {
  const leaving = new AbortController();
  const response = await post(PATHS[api], { model: `hostile/${api}`, ...body }, leaving.signal);
  if (leaves && response.ok) leaving.abort();
  else await response.text();
  return response.status;
}

/** Sends the same request in each line of a batch, and waits for its end. */
async function sendBatch({ api, body }: HostileShape): Promise<number> {
  const requests = Array.from({ length: AT_ONCE }, (_, line) => ({ custom_id: `line-${line}`, body }));
  const response = await post('/batches', { endpoint: ENDPOINTS[api], model: `hostile/${api}`, requests });
  const { id } = (await response.json()) as { id: string };
  if (response.status !== 202) return response.status;
  await eventually(`the batch ${id} ends`, 120_000, async () => {
    const found = await fetch(`${installation.baseUrl}/batches/${id}?results=false`, {
      headers: { authorization: `Bearer ${tenant.apiKey}` },
    });
    const { status } = (await found.json()) as { status: string };
    return status === 'completed' || status === 'failed' ? status : undefined;
  });
  return response.status;
}

const sendAll = (shape: HostileShape): Promise<number[]> =>
  shape.isBatch ? Promise.all([sendBatch(shape)]) : Promise.all(Array.from({ length: AT_ONCE }, () => send(shape)));

/** What the organization has once nothing is held any more. */
async function balance(): Promise<number> {
  const balanceUsd = await eventually('all calls are settled', 20_000, async () => {
    const account = await ledger.accountOf(tenant.organizationId);
    return Number(account.heldUsd) === 0 ? account.balanceUsd : null;
  });
  return Number(balanceUsd);
}

/** Tops up to exactly the credit. */
async function provide(left: number): Promise<void> {
  const missing = (CREDIT_USD - left).toFixed(12);
  await installation.database.transaction((session) =>
    ledger.topUp(tenant.organizationId, missing, `hostile-${Math.random()}`, session),
  );
}

it('lets 0.05 USD pay for no more than that and the overage of one call, whatever 500 requests look like', async () => {
  let left = await balance();
  let overdrawn = { usd: 0, by: 'none' };
  const statuses = new Map<number, number>();
  for (const shape of SHAPES) {
    if (left < CREDIT_USD * (shape.isBatch ? 0.9 : 0.5)) await provide(left);
    for (const status of await sendAll(shape)) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    left = await balance();
    if (-left > overdrawn.usd) overdrawn = { usd: -left, by: shape.name };
  }
  const all = JSON.stringify(Object.fromEntries(statuses));
  const largest = largestOverageUsd.toFixed(6);
  say(`largest overage ${largest} USD, overdraft ${overdrawn.usd.toFixed(6)} USD by ${overdrawn.by}; ${all}`);
  expect([...statuses.keys()].toSorted((one, other) => one - other)).toEqual([200, 202, 402]);
  expect(statuses.get(200)).toBeGreaterThan(SHAPES.length);
  expect(overdrawn.usd).toBeLessThanOrEqual(largestOverageUsd);
}, 900_000);
