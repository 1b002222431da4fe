import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { Pool } from 'undici';
import { hashApiKey } from '@libs/contracts';
import { FakeUpstream, type ReceivedRequest } from '@libs/inference/testing';
import { catalogueOf, type TestModel } from '../support/catalogue';
import { ApiClient } from '../support/client';
import { Installation, PROVIDER_KEY } from '../support/installation';
import { Operator, type Tenant } from '../support/operator';
import { say } from '../support/say';
import { CANARY, findInsides } from '../e2e/refusals';
import { Dice, mutatedBody, oddPath, writtenBody } from './mutations';
import { ROUTE_FORMS, type RouteForm } from './route-forms';
import { IS_FULL } from '../support/scale';

/** To each route. */
const REQUESTS = Number(process.env.HOSTILE_REQUESTS ?? (IS_FULL ? 60 : 20));
/** The same seed makes the same requests. Others than the usual one are tried by hand, so that no run fails by chance. */
const SEED = Number(process.env.HOSTILE_SEED ?? 1);
const AT_ONCE = 20;
const MOST_RETRIES = 5;
const TIMEOUT_MS = 60_000;
const HEAP_MIB = 160;
const MOST_GROWTH_MIB = 128;
const VIDEO = { durations: [3], resolutions: ['720p'], aspect_ratios: ['16:9'], frame_images: ['first_frame'] };

/** Requests that are refused for their number try nothing. */
const UNLIMITED = Object.fromEntries(
  [
    'TOKEN_EXCHANGES_PER_MINUTE',
    'KEY_EXCHANGES_PER_MINUTE',
    'VIDEO_SUBMISSIONS_PER_MINUTE',
    'VIDEO_READS_PER_MINUTE',
    'BATCH_SUBMISSIONS_PER_MINUTE',
    'BATCH_READS_PER_MINUTE',
    'MANAGEMENT_REQUESTS_PER_MINUTE',
  ].map((name) => [name, '1000000']),
);

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body: Buffer | undefined;
}

let upstream: FakeUpstream;
let installation: Installation;
let tenant: Tenant;
/** Of rows that exist, and that requests may change or delete. */
let ids: string[];
let pool: Pool;
const dice = new Dice(SEED);
/** How often each status came, by route. */
const seen = new Map<string, Map<number, number>>();

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.behaviour = answer;
  installation = await Installation.start({
    catalogue: catalogue(),
    environment: UNLIMITED,
    environmentOf: { gateway: { NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}` } },
  });
  tenant = await new Operator(installation).createTenant('Hostile', '1000000');
  ids = await rowsToAbuse();
  pool = new Pool(new URL(installation.baseUrl).origin, { connections: AT_ONCE, bodyTimeout: TIMEOUT_MS });
}, 240_000);

afterAll(async () => {
  await pool?.destroy();
  await installation?.stop();
  await upstream?.close();
}, 240_000);

function catalogue(): string {
  const model = (name: string, api: string): TestModel => ({
    slug: `fuzz/${name}`,
    provider: `fuzz-${name}`,
    baseUrl: `${upstream.origin}/${name}/v1`,
    apis: [api],
    pricing: { prompt: '0.000001', completion: '0.000001' },
  });
  const models = [model('chat', 'chat'), model('embeddings', 'embeddings')];
  const parsed = JSON.parse(catalogueOf([...models, model('speech', 'transcription'), model('video', 'video')])) as {
    models: { endpoints: { pricing: object; capabilities: object }[] }[];
  };
  const [speech, film] = parsed.models.slice(2).map(({ endpoints }) => endpoints[0]!);
  speech!.pricing = { audio_second: '0.0001' };
  Object.assign(film!, { pricing: { video_second: '0.01' }, capabilities: { video: VIDEO } });
  return JSON.stringify(parsed);
}

const USAGE = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 };

const COMPLETION = { id: 'up', created: 1, model: 'm', usage: USAGE };
const MESSAGE = { role: 'assistant', content: 'Hi' };
const CHOICE = { index: 0, finish_reason: 'stop' };

/** As the request wants it: the gateway rightly blames a provider that answers otherwise. */
function answer(response: ServerResponse, { path, body }: ReceivedRequest): void {
  const api = path.split('/')[1]!;
  const asked = api === 'chat' || api === 'embeddings' ? (JSON.parse(body) as Readonly<Record<string, unknown>>) : {};
  if (asked['stream'] === true) {
    const chunk = { ...COMPLETION, object: 'chat.completion.chunk', choices: [{ ...CHOICE, delta: MESSAGE }] };
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
    return;
  }
  const embedding = Array.from({ length: Number(asked['dimensions'] ?? 1) }, () => 0.5);
  const bodies: Readonly<Record<string, object>> = {
    chat: { ...COMPLETION, object: 'chat.completion', choices: [{ ...CHOICE, message: MESSAGE }] },
    embeddings: { object: 'list', model: 'm', usage: USAGE, data: [{ object: 'embedding', index: 0, embedding }] },
    speech: { text: 'Hello.' },
  };
  const known = bodies[api];
  response.writeHead(known === undefined ? 400 : 200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(known ?? { error: { message: 'not this', code: 'moderation_blocked' } }));
}

async function rowsToAbuse(): Promise<string[]> {
  const manager = new ApiClient(installation.baseUrl, tenant.managementKey);
  const workspace = await manager.request<{ data: { id: string } }>('POST', '/workspaces', { name: 'W', slug: 'w' });
  const key = await manager.request<{ key: string }>('POST', '/keys', { name: 'K' });
  await manager.close();
  expect([workspace.status, key.status]).toEqual([201, 201]);
  return [workspace.body.data.id, hashApiKey(key.body.key)];
}

/** As the gateway logged them when it started. */
function mappedRoutes(): string[] {
  const log = readFileSync(join(installation.folder, 'gateway.log'), 'utf8');
  const mapped = [...log.matchAll(/Mapped \{([^,]+), ([A-Z]+)\} route/g)];
  return mapped.map(([, path, method]) => `${method} ${path!.replaceAll(/:(\w+)/g, '{$1}')}`);
}

function request(route: string, form: RouteForm, body: Readonly<Record<string, unknown>> | undefined): Sent {
  const [method = '', path = ''] = route.split(' ');
  const target = oddPath(path, ids, dice);
  if (body === undefined) return { method, path: target, body: undefined };
  const changed = mutatedBody(body, dice);
  const isForm = form.isForm && typeof changed === 'object' && changed !== null;
  return { method, path: target, body: isForm ? formOf(changed) : writtenBody(changed, dice) };
}

function formOf(changed: object): Buffer {
  const fields = Object.entries(changed).map(([name, value]): [string, string] => [
    name,
    typeof value === 'string' ? value : (JSON.stringify(value) ?? ''),
  ]);
  return Buffer.from(new URLSearchParams(fields).toString());
}

function headersOf({ isForm, by }: RouteForm, body: Buffer | undefined): Record<string, string> {
  const type = isForm ? 'application/x-www-form-urlencoded' : 'application/json';
  const key = by === 'manager' ? tenant.managementKey : tenant.apiKey;
  return {
    ...(body !== undefined && { 'content-type': dice.below(40) === 0 ? 'text/plain' : type }),
    ...(by !== 'nobody' && { authorization: `Bearer ${key}` }),
    ...(dice.below(10) === 0 && { 'idempotency-key': CANARY }),
  };
}

/** Sends a request, again where a busy service asks for that: 503 with `Retry-After`. */
async function answerTo({ method, path, body }: Sent, form: RouteForm): Promise<{ statusCode: number; text: string }> {
  for (let retries = 0; ; retries += 1) {
    const {
      statusCode,
      headers,
      body: answered,
    } = await pool.request({
      method,
      path,
      headers: headersOf(form, body),
      ...(body !== undefined && { body }),
      headersTimeout: TIMEOUT_MS,
    } as Parameters<Pool['request']>[0]);
    const text = await answered.text();
    const waitSeconds = Number(headers['retry-after']);
    if (statusCode !== 503 || !(waitSeconds > 0) || retries === MOST_RETRIES) return { statusCode, text };
    await sleep(waitSeconds * 1_000);
  }
}

/** Returns what is wrong with the answer; null if nothing is. */
async function findBlame(route: string, form: RouteForm, sent: Sent): Promise<string | null> {
  const { statusCode, text } = await answerTo(sent, form);
  const counts = seen.get(route) ?? new Map<number, number>();
  counts.set(statusCode, (counts.get(statusCode) ?? 0) + 1);
  seen.set(route, counts);
  if (statusCode >= 500) return `is answered with ${statusCode}: ${text.slice(0, 200)}`;
  if (statusCode < 400) return null;
  const inside = findInsides(text);
  if (inside !== null) return `shows the inside (${inside}): ${text.slice(0, 200)}`;
  // Names of models that were asked for are part of the interface.
  const named = /"requested_models":\[[^\]]*\]|The model \\"[^"]*\\" does not exist/g;
  const isRepeated = text.replaceAll(named, '').includes(CANARY);
  return isRepeated ? `repeats a value: ${text.slice(0, 300)}` : null;
}

async function residentMib(): Promise<number> {
  const status = readFileSync(`/proc/${installation.pidOf('gateway')}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? '0') / 1_024;
}

describe('every route of the gateway', () => {
  it('is in the OpenAPI document, from which hostile requests are made', () => {
    const routes = mappedRoutes();
    expect(routes.length).toBeGreaterThan(60);
    expect(Object.keys(ROUTE_FORMS).toSorted()).toEqual(routes.toSorted());
  });

  it('refuses what it cannot take, with no 5xx, no inside and no value of the caller', async () => {
    const blames: string[] = [];
    const before = await residentMib();
    const work = Object.entries(ROUTE_FORMS).flatMap(([route, form]) => {
      const bodies = form.body && fc.sample(form.body, { seed: SEED, numRuns: REQUESTS });
      return Array.from({ length: REQUESTS }, (_, at) => ({ route, form, body: bodies?.[at] }));
    });
    const next = work.values();
    const worker = async (): Promise<void> => {
      for (const { route, form, body } of next) {
        const sent = request(route, form, body);
        const blame = await findBlame(route, form, sent);
        if (blame === null) continue;
        blames.push(`${sent.method} ${sent.path.slice(0, 200)} ${sent.body?.toString().slice(0, 500) ?? ''} ${blame}`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    const growth = (await residentMib()) - before;
    const counts = new Map<number, number>();
    for (const byStatus of seen.values()) {
      for (const [status, count] of byStatus) counts.set(status, (counts.get(status) ?? 0) + count);
    }
    const all = JSON.stringify(Object.fromEntries(counts));
    say(`seed ${SEED}: ${work.length} requests to ${seen.size} routes: ${all}; RSS grew by ${growth.toFixed(0)} MiB`);
    expect(blames).toEqual([]);
    expect(growth).toBeLessThanOrEqual(MOST_GROWTH_MIB);
    expect(counts.get(200)).toBeGreaterThan(REQUESTS);
  }, 900_000);

  it('kills no app, and leaves no secret in a log', () => {
    for (const app of ['gateway', 'auth', 'credentials', 'batch-worker', 'video-worker']) {
      expect(installation.deathsOf(app)).toBe(0);
      const log = readFileSync(join(installation.folder, `${app}.log`), 'utf8');
      for (const secret of [CANARY, PROVIDER_KEY, tenant.apiKey, tenant.managementKey, 'provider-key-of-a-tenant']) {
        expect(log.includes(secret)).toBe(false);
      }
    }
  });
});
