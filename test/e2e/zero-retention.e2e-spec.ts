import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { waveFile } from '@libs/inference/testing';
import { catalogueOf, type TestModel } from '../support/catalogue';
import type { ApiAnswer, ApiClient } from '../support/client';
import { eventually } from '../support/eventually';
import { Installation } from '../support/installation';

/** What reaches providers under a policy of zero retention, whatever the caller asks for. */

const MARK = 'c4n4ry-of-what-must-not-be-kept';
const PROMPT = 'pr0mpt-that-must-not-be-kept';

const ANSWER = {
  id: 'x',
  object: 'chat.completion',
  created: 1,
  model: 'x',
  choices: [{ index: 0, message: { role: 'assistant', content: PROMPT }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 },
};

interface Sent {
  readonly place: string;
  readonly url: string;
  readonly headers: string;
  readonly body: string;
}

/** A provider that keeps prompts, and one that does not: both record what they get. */
const sent: Sent[] = [];
let provider: Server;
let status = 400;
let installation: Installation;
let manager: ApiClient;
let client: ApiClient;

const DIALECTS: Readonly<Record<string, Pick<TestModel, 'protocol' | 'apis'>>> = {
  chat: { protocol: 'openai', apis: ['chat'] },
  responses: { protocol: 'openai', apis: ['responses'] },
  messages: { protocol: 'anthropic', apis: ['messages'] },
  azure: { protocol: 'azure', apis: ['chat'] },
  google: { protocol: 'google', apis: ['chat'] },
  cohere: { protocol: 'cohere', apis: ['chat'] },
  mistral: { protocol: 'mistral', apis: ['chat'] },
  bedrock: { protocol: 'bedrock', apis: ['chat'] },
  embeddings: { protocol: 'openai', apis: ['embeddings'] },
  speech: { protocol: 'openai', apis: ['transcription'] },
};

function catalogue(baseUrl: (place: string) => string): string {
  const at = (name: string, place: string): TestModel => ({
    slug: `zero/${name}`,
    provider: `${place}-${name}`,
    baseUrl: baseUrl(`${place}-${name}`),
    pricing: { prompt: place === 'kept' ? '0.000001' : '0.000009', completion: '0.000002' },
    ...DIALECTS[name],
  });
  type File = { providers: { data_policy: object }[]; models: { endpoints: { zdr: boolean }[] }[] };
  const fileOf = (place: string): File =>
    JSON.parse(catalogueOf(Object.keys(DIALECTS).map((name) => at(name, place)))) as File;
  const [kept, unkept] = [fileOf('kept'), fileOf('unkept')];
  for (const one of kept.providers) {
    one.data_policy = { retains_prompts: true, trains_on_prompts: false, zdr: false };
  }
  const models = unkept.models.map((model, index) => ({
    ...model,
    endpoints: [...kept.models[index]!.endpoints.map((one) => ({ ...one, zdr: false })), ...model.endpoints],
  }));
  return JSON.stringify({ providers: [...kept.providers, ...unkept.providers], models });
}

beforeAll(async () => {
  provider = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const url = request.url ?? '';
      const body = Buffer.concat(chunks).toString();
      sent.push({ place: url.split('/')[1] ?? '', url, headers: JSON.stringify(request.headers), body });
      response.writeHead(status, { 'content-type': 'application/json' });
      const error = { message: `I read: ${body.slice(0, 500)}`, type: 'x' };
      response.end(JSON.stringify(status === 200 ? ANSWER : { error }));
    });
  });
  await once(provider.listen(0, '127.0.0.1'), 'listening');
  const { port } = provider.address() as AddressInfo;
  installation = await Installation.start({
    catalogue: catalogue((place) => `http://127.0.0.1:${port}/${place}/v1`),
    apps: ['auth', 'batch-worker', 'gateway'],
    environment: { CONTENT_LOGGING: 'on', LOG_LEVEL: 'debug' },
  });
  manager = installation.client(installation.seed.managementKey);
  const made = await manager.request<{ data: { id: string } }>('POST', '/workspaces', {
    name: 'Zero',
    slug: 'zero',
    policy: { zdr: true },
  });
  const key = await manager.request<{ key: string }>('POST', '/keys', {
    name: 'zero',
    workspace_id: made.body.data.id,
  });
  client = installation.client(key.body.key);
}, 240_000);

afterAll(async () => {
  await Promise.all([client, manager].map((each) => each?.close()));
  await installation?.stop();
  await new Promise((resolve) => provider.close(resolve));
});

beforeEach(() => {
  sent.length = 0;
  status = 400;
});

type Api = 'chat' | 'responses' | 'messages' | 'embeddings';

const PATHS: Readonly<Record<Api, string>> = {
  chat: '/chat/completions',
  responses: '/responses',
  messages: '/messages',
  embeddings: '/embeddings',
};

const BODIES: Readonly<Record<Api, object>> = {
  chat: { messages: [{ role: 'user', content: PROMPT }], max_tokens: 16 },
  responses: { input: PROMPT, max_output_tokens: 16 },
  messages: { messages: [{ role: 'user', content: PROMPT }], max_tokens: 16 },
  embeddings: { input: PROMPT },
};

const TALKING = Object.keys(DIALECTS).filter((name) => name !== 'embeddings' && name !== 'speech');

const TARGETS: Readonly<Record<Api, readonly string[]>> = {
  chat: TALKING,
  responses: TALKING,
  messages: TALKING,
  embeddings: ['embeddings'],
};

/** Fields whose value must not be found in what is sent, in any spelling. */
const MARKED: Readonly<Record<string, unknown>> = {
  store_messages: MARK,
  deferred: MARK,
  background: MARK,
  previous_response_id: MARK,
  conversation: MARK,
  extra_body: { store: true, note: MARK },
  prompt_cache_retention: MARK,
  prompt_cache_options: { mode: 'explicit', ttl: MARK },
  prompt_cache_key: MARK,
  prompt_cache_isolation_key: MARK,
  cache_salt: MARK,
  caching: { type: 'enabled', note: MARK },
  user: MARK,
  safety_identifier: MARK,
  user_id: MARK,
  end_user: MARK,
  end_user_id: MARK,
  user_security_context: { end_user_id: MARK },
  container: MARK,
  container_id: MARK,
  cached_content: MARK,
  context_id: MARK,
  vector_store_id: MARK,
  vector_store_ids: [MARK],
  thread_id: MARK,
  assistant_id: MARK,
  session_id: MARK,
  external_user: MARK,
  trace: { trace_id: MARK, user: MARK },
  store: MARK,
  metadata: { user_id: MARK, userId: MARK, end_user: MARK },
};

const camel = (name: string): string => name.replace(/_(\w)/g, (_all, letter: string) => letter.toUpperCase());
const spellings = (name: string): readonly string[] => [
  ...new Set([name, camel(name), name.toUpperCase(), name.replaceAll('_', '-')]),
];

const ask = (api: Api, target: string, more: object, headers: Record<string, string> = {}): Promise<ApiAnswer> =>
  client.request('POST', PATHS[api], { ...BODIES[api], model: `zero/${target}`, ...more }, headers);

const cases = (Object.keys(TARGETS) as Api[]).flatMap((api) => TARGETS[api].map((target) => [api, target] as const));

it.each(cases)(
  '%s to %s: no field that a provider could keep is sent, in any spelling',
  async (api, target) => {
    const found: string[] = [];
    const refusals: string[] = [];
    let reached = 0;
    for (const [name, value] of Object.entries(MARKED)) {
      for (const spelling of spellings(name)) {
        sent.length = 0;
        const answer = await ask(api, target, { [spelling]: value });
        if (sent.length === 0) refusals.push(`${spelling}: ${answer.status} ${answer.text}`);
        reached += sent.length;
        for (const { place, url, headers, body } of sent) {
          if (`${url}${headers}${body}`.includes(MARK)) found.push(`${spelling}: ${body}`);
          if (/"store"\s*:\s*(?!false)/.test(body)) found.push(`${spelling}: ${body}`);
          if (place.startsWith('kept')) found.push(`${spelling}: ${place}`);
        }
      }
    }
    expect(refusals.filter((text) => !text.includes(': 400 '))).toEqual([]);
    expect(found).toEqual([]);
    expect(reached).toBeGreaterThan(20);
  },
  120_000,
);

it.each(cases)(
  '%s to %s: whatever fails, no provider that keeps prompts is asked',
  async (api, target) => {
    status = 503;
    const wishes = [
      {},
      { provider: { order: [`kept-${target}`], allow_fallbacks: true } },
      { provider: { only: [`kept-${target}`] } },
      { provider: { zdr: false, data_collection: 'allow', sort: 'price' } },
      { stream: true },
    ];
    for (const wish of wishes) await ask(api, target, wish);
    expect(new Set(sent.map(({ place }) => place))).toEqual(new Set([`unkept-${target}`]));
  },
  120_000,
);

it('sends a recording to no provider that keeps it, and nothing of who speaks', async () => {
  const audio = { input_audio: { data: waveFile(1).toString('base64'), format: 'wav' } };
  for (const code of [400, 503]) {
    status = code;
    const wish = { provider: { order: ['kept-speech'], zdr: false } };
    await client.request('POST', '/audio/transcriptions', { model: 'zero/speech', ...audio, ...wish, user: MARK });
  }
  expect(new Set(sent.map(({ place }) => place))).toEqual(new Set(['unkept-speech']));
  expect(sent.filter(({ body }) => body.includes(MARK))).toEqual([]);
});

it('holds for the lines of batches as for calls', async () => {
  const ids: string[] = [];
  for (const [name, value] of Object.entries(MARKED)) {
    const body = { ...BODIES.chat, [name]: value };
    const requests = [{ custom_id: name, body }];
    const answer = await client.submitBatch({ endpoint: '/v1/chat/completions', model: 'zero/chat', requests });
    expect([202, 400]).toContain(answer.status);
    if (answer.status === 202) ids.push(answer.body.id);
  }
  for (const id of ids) {
    await eventually(`the end of ${id}`, 60_000, async () =>
      ['completed', 'failed'].includes((await client.getBatch(id)).body.status) ? true : undefined,
    );
  }
  expect(new Set(sent.map(({ place }) => place))).toEqual(new Set(['unkept-chat']));
  expect(sent.filter(({ body }) => body.includes(MARK)).map(({ body }) => body)).toEqual([]);
  expect(sent.length).toBeGreaterThan(10);
  for (const id of ids) await client.request('DELETE', `/batches/${id}`);
}, 120_000);

/** The tables that hold the prompt. */
async function tablesWithPrompt(): Promise<readonly string[]> {
  const { database } = installation;
  const tables = await database.rows<{ name: string }>({
    sql: `SELECT table_name AS name FROM information_schema.tables
          WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'`,
  });
  const holding: string[] = [];
  for (const { name } of tables) {
    const sql = `SELECT 1 FROM "${name}" t WHERE strpos(t::text, $1) > 0 LIMIT 1`;
    if ((await database.rows({ sql, values: [PROMPT] })).length > 0) holding.push(name);
  }
  return holding;
}

it('keeps no word of calls in tables or in logs at debug, although contents of others are kept', async () => {
  for (const code of [200, 400, 503]) {
    status = code;
    for (const [api, target] of cases) await ask(api, target, { user: MARK, metadata: { a: MARK } });
  }
  await delay(2_000);
  expect(await tablesWithPrompt()).toEqual([]);
  for (const name of readdirSync(installation.folder).filter((file) => file.endsWith('.log'))) {
    const lines = readFileSync(join(installation.folder, name), 'utf8').split('\n');
    expect(lines.filter((line) => line.includes(PROMPT) || line.includes(MARK))).toEqual([]);
  }
  status = 200;
  const other = installation.client();
  await other.chat({ ...BODIES.chat, model: 'zero/mistral' });
  await other.close();
  await eventually('the content of a call without the policy', 20_000, async () =>
    (await tablesWithPrompt()).some((name) => name.startsWith('generation_contents')) ? true : undefined,
  );
}, 120_000);
