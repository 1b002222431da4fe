import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waveOf } from '@libs/inference/testing';
import { HttpsHost } from '@libs/platform/testing';
import { CHAT_ANSWER } from '../support/chat-answer';
import type { ApiAnswer, ApiClient } from '../support/client';
import { eventually } from '../support/eventually';
import { Installation } from '../support/installation';
import { Operator } from '../support/operator';

/**
 * Keys of callers that name a place of their own, from `POST /byok` to the host: the guard of outgoing connections,
 * TLS and the list of hosts included. The host is on loopback, which the operator allows.
 */

interface Arrival {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

const CHATTER = 'azure-e2e/chatter';
const MANAGED = 'azure-e2e/managed';
const VECTORS = 'azure-e2e/vectors';
const LISTENER = 'azure-e2e/listener';
const MODELS = [CHATTER, MANAGED, VECTORS, LISTENER];
const OWN_KEY = `own-azure-${randomBytes(24).toString('hex')}`;
const CHAT = { messages: [{ role: 'user', content: 'Hello?' }], max_tokens: 8 };
/** A tenth of a second of silence. */
const WAVE = waveOf(8_000, Buffer.alloc(1_600));

let host: HttpsHost;
let installation: Installation;
let manager: ApiClient;
let client: ApiClient;
let folder: string;
const arrivals: Arrival[] = [];
/** Lines of the batch that was uploaded. */
let uploaded: { readonly custom_id: string; readonly body: { readonly model: string } }[] = [];

function catalogue(): string {
  const provider = (slug: string, batch: string): object => ({
    slug,
    name: 'Azure',
    base_url: 'https://nobody-has-this.openai.azure.com/openai/v1',
    protocol: 'azure',
    api_key_env: 'NOBODY_SET_THIS',
    headers: { 'x-operator': 'operators-own' },
    batch,
    own_key_hosts: [`localhost:${host.port}`],
  });
  const model = (slug: string, named: string, api: string, pricing: object, batch_pricing?: object): object => ({
    slug,
    name: slug,
    endpoints: [{ provider: named, upstream_model: 'catalogue-name', apis: [api], pricing, batch_pricing }],
  });
  const [prices, halves] = [
    { prompt: '0.000002', completion: '0.000004' },
    { prompt: '0.000001', completion: '0.000002' },
  ];
  return JSON.stringify({
    providers: [provider('azure', 'native'), provider('azure/managed', 'managed')],
    models: [
      model(CHATTER, 'azure', 'chat', prices, halves),
      model(MANAGED, 'azure/managed', 'chat', prices, halves),
      model(VECTORS, 'azure', 'embeddings', { prompt: '0.000001' }),
      model(LISTENER, 'azure', 'transcription', { audio_second: '0.0001' }),
    ],
  });
}

async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { method = '', url: path = '', headers } = request;
  const arrival = { method, path, headers, body: Buffer.concat(chunks).toString() };
  arrivals.push(arrival);
  const answer = answerTo(arrival);
  if (typeof answer === 'string') response.end(answer);
  else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
}

function answerTo(arrival: Arrival): object | string {
  const { path, body } = arrival;
  if (path.includes('/files') || path.includes('/batches')) return batchAnswerTo(arrival);
  if (path.endsWith('/embeddings')) {
    const data = [{ object: 'embedding', index: 0, embedding: [0.5] }];
    return { object: 'list', model: 'm', data, usage: { prompt_tokens: 4, total_tokens: 4 } };
  }
  if (path.endsWith('/audio/transcriptions')) return { text: 'Hello.' };
  return (JSON.parse(body) as { stream?: boolean }).stream === true ? streamed() : CHAT_ANSWER;
}

function batchAnswerTo({ method, path, body }: Arrival): object | string {
  if (path.endsWith('/content')) return uploaded.map(({ custom_id }) => resultLine(custom_id)).join('\n');
  if (path.includes('/batches')) {
    const { metadata = {} } = method === 'POST' ? (JSON.parse(body) as { metadata?: object }) : {};
    const counts = { total: uploaded.length, completed: uploaded.length, failed: 0 };
    return { id: 'batch-1', status: 'completed', output_file_id: 'file-out', metadata, request_counts: counts };
  }
  if (method === 'POST') {
    const lines = body.split('\n').filter((line) => line.startsWith('{"custom_id"'));
    uploaded = lines.map((line) => JSON.parse(line) as (typeof uploaded)[number]);
  }
  return { id: 'file-in', status: 'processed' };
}

function resultLine(custom_id: string): string {
  return JSON.stringify({ custom_id, response: { status_code: 200, body: CHAT_ANSWER }, error: null });
}

function streamed(): string {
  const head = { id: 'u1', object: 'chat.completion.chunk', created: 1, model: 'm' };
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  const events = [
    { ...head, choices: [{ index: 0, delta: { content: 'Hello.' }, finish_reason: 'stop' }] },
    { ...head, choices: [], usage },
  ];
  return [...events.map((event) => JSON.stringify(event)), '[DONE]'].map((data) => `data: ${data}\n\n`).join('');
}

beforeAll(async () => {
  host = await HttpsHost.start((request, response) => void take(request, response));
  folder = mkdtempSync(join(tmpdir(), 'sluice-own-places-'));
  const authority = join(folder, 'authority.pem');
  writeFileSync(authority, host.certificate);
  installation = await Installation.start({
    catalogue: catalogue(),
    apps: ['auth', 'batch-worker', 'gateway', 'credentials'],
    environment: { EGRESS_ALLOW_CIDRS: '127.0.0.0/8', NODE_EXTRA_CA_CERTS: authority },
  });
  manager = installation.client(installation.seed.managementKey);
  client = installation.client();
  const key = JSON.stringify(
    MODELS.map((model_slug, index) => ({
      model_slug,
      endpoint_url: `${host.url('', 'localhost')}/openai/deployments/deployment-${index}/chat/completions`,
      model_id: `deployment-${index}`,
      api_key: OWN_KEY,
    })),
  );
  const answer = await manager.request<{ data: object }>('POST', '/byok', { key, provider: 'azure' });
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
  expect(answer.body.data).toMatchObject({ provider: 'azure', warnings: [] });
  await eventually('the key is in use', 20_000, async () => ((await chat()).status === 200 ? true : undefined));
});

afterAll(async () => {
  await Promise.all([manager, client].map((each) => each?.close()));
  await installation?.stop();
  await host?.stop();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

beforeEach(() => {
  arrivals.length = 0;
});

const chat = (model = CHATTER, more: object = {}): Promise<ApiAnswer> => client.chat({ model, ...CHAT, ...more });

function expectOwnKey(path: string): Arrival {
  const arrival = arrivals.find((one) => one.path === path);
  expect(arrivals.map((one) => one.path)).toContain(path);
  expect(arrival!.headers).toMatchObject({ 'api-key': OWN_KEY, host: `localhost:${host.port}` });
  expect(arrival!.headers).not.toHaveProperty('x-operator');
  return arrival!;
}

describe('a key of Azure that names a deployment of its owner’s', () => {
  it('K1: serves calls there, and its owner pays the fee alone', async () => {
    const answer = await chat();
    expect(answer).toMatchObject({ status: 200, body: { usage: { is_byok: true } } });
    expect(JSON.parse(expectOwnKey('/openai/v1/chat/completions').body)).toMatchObject({ model: 'deployment-0' });
  });

  it('K1: streams there', async () => {
    const answer = await chat(CHATTER, { stream: true });
    expect(answer.text).toContain('Hello.');
    expectOwnKey('/openai/v1/chat/completions');
  });

  it('K1: embeds there', async () => {
    const answer = await client.request('POST', '/embeddings', { model: VECTORS, input: 'Hello' });
    expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
    expect(JSON.parse(expectOwnKey('/openai/v1/embeddings').body)).toMatchObject({ model: 'deployment-2' });
  });

  it('K1: transcribes there', async () => {
    const input_audio = { data: WAVE.toString('base64'), format: 'wav' };
    const answer = await client.request('POST', '/audio/transcriptions', { model: LISTENER, input_audio });
    expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
    expect(expectOwnKey('/openai/v1/audio/transcriptions').body).toContain('deployment-3');
  });

  it.each([
    ['line by line', MANAGED, '/openai/v1/chat/completions', 'deployment-1'],
    ['at the batch API', CHATTER, '/openai/v1/batches', 'deployment-0'],
  ])(
    'K1: runs batches there, %s, which hold and cost the fee alone',
    async (_lane, model, path, deployment) => {
      const requests = ['a', 'b'].map((custom_id) => ({ custom_id, body: CHAT }));
      const submitted = await client.submitBatch({ endpoint: '/v1/chat/completions', model, requests });
      expect({ status: submitted.status, text: submitted.text }).toMatchObject({ status: 202 });
      const batch = await eventually('the batch is done', 60_000, async () => {
        const { body } = await client.getBatch(submitted.body.id);
        return body.status === 'completed' ? body : undefined;
      });
      expect(batch).toMatchObject({ request_counts: { total: 2, completed: 2 }, usage: { is_byok: true } });
      const arrival = expectOwnKey(path);
      if (path.endsWith('/batches')) expect(uploaded.map(({ body }) => body.model)).toEqual([deployment, deployment]);
      else expect(JSON.parse(arrival.body)).toMatchObject({ model: deployment });
      await eventually('the hold is given back', 20_000, async () => ((await holds()).open === 0 ? true : undefined));
      expect((await holds()).largest).toBeGreaterThan(0);
      expect((await holds()).largest).toBeLessThan(0.000_01);
      // By the list price, two lines of eight tokens would be more than four times as much.
      expect(Number(batch.usage!.cost)).toBeGreaterThan(0);
      expect(Number(batch.usage!.cost)).toBeLessThan(0.000_01);
      const audit = await new Operator(installation).runHere<{ drift: string }>('ledger', 'audit');
      expect(audit.drift).toBe('0');
    },
    120_000,
  );

  it('is in no log', () => {
    const logs = readdirSync(installation.folder).filter((name) => name.endsWith('.log'));
    expect(logs.length).toBeGreaterThanOrEqual(3);
    for (const name of logs) expect(readFileSync(join(installation.folder, name), 'utf8')).not.toContain(OWN_KEY);
  });
});

/** In US dollars, of holds that are open; with the largest that there was. */
async function holds(): Promise<{ readonly open: number; readonly largest: number }> {
  const row = await installation.database.firstRow<{ open: string; largest: string }>({
    sql: `SELECT coalesce(sum(amount_usd) FILTER (WHERE state = 'open'), 0)::text AS open,
                 coalesce(max(amount_usd), 0)::text AS largest FROM ledger_holds`,
    values: [],
  });
  return { open: Number(row!.open), largest: Number(row!.largest) };
}
