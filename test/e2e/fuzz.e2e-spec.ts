import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerResponse } from 'node:http';
import fc from 'fast-check';
import { FakeUpstream, type ReceivedRequest } from '@libs/inference/testing';
import { LedgerRepository } from '@libs/persistence';
import { Pool } from 'undici';
import { IS_FULL } from '../support/scale';
import { catalogueOf } from '../support/catalogue';
import { amountOf } from '../support/decimal';
import { eventually } from '../support/eventually';
import { Installation, PROVIDER_KEY } from '../support/installation';
import { scriptOf, type UpstreamDialect } from '../support/provider-scripts';
import { anyFuzzRequest, type FuzzRequest } from './fuzz-requests';
import { Operator, type Tenant } from '../support/operator';
import { bytesOf, exchange } from './raw-http';
import { CANARY, findInsides } from './refusals';
import { findProblems, readEvents } from './stream-grammar';

const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? (IS_FULL ? 20_000 : 5_000));
const AT_ONCE = 50;
const CREDITS = '1000000';
const PRICES = { prompt: '0.000000123', completion: '0.000000457' };
const PATHS: Readonly<Record<UpstreamDialect, string>> = {
  chat: '/chat/completions',
  responses: '/responses',
  messages: '/messages',
};

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

let upstream: FakeUpstream;
let installation: Installation;
let tenant: Tenant;
let pool: Pool;
/** How often each kind of answer came, so that a generator that makes only nonsense is noticed. */
const seen = new Map<string, number>();

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.behaviour = answer;
  installation = await Installation.start({ catalogue: catalogue(), apps: ['auth', 'gateway'] });
  tenant = await new Operator(installation).createTenant('Fuzz', CREDITS);
  pool = new Pool(new URL(installation.baseUrl).origin, { connections: AT_ONCE });
}, 240_000);

afterAll(async () => {
  await pool?.destroy();
  await installation?.stop();
  await upstream?.close();
}, 240_000);

/** One provider for each dialect, and a model that all of them have. */
function catalogue(): string {
  const dialects: readonly UpstreamDialect[] = ['chat', 'responses', 'messages'];
  const parts = dialects.map((dialect) => {
    const baseUrl = `${upstream.origin}/${dialect}/v1`;
    const model = { slug: `fuzz/${dialect}`, provider: `fuzz-${dialect}`, baseUrl, apis: [dialect], pricing: PRICES };
    const { providers, models } = JSON.parse(catalogueOf([model])) as {
      providers: object[];
      models: { endpoints: object[] }[];
    };
    const protocol = dialect === 'messages' ? 'anthropic' : 'openai';
    return { provider: { ...providers[0], protocol }, model: models[0]! };
  });
  const all = {
    ...parts[0]!.model,
    slug: 'fuzz/all',
    name: 'All',
    endpoints: parts.flatMap(({ model }) => model.endpoints),
  };
  return JSON.stringify({
    providers: parts.map(({ provider }) => provider),
    models: [...parts.map(({ model }) => model), all],
  });
}

/** Always a good answer: whatever goes wrong is ours. */
function answer(response: ServerResponse, { path, body }: ReceivedRequest): void {
  const script = scriptOf(path.split('/')[1] as UpstreamDialect, CANARY);
  const { stream } = JSON.parse(body) as { stream?: boolean };
  if (!stream) return void response.writeHead(200, { 'content-type': 'application/json' }).end(script.answer);
  const { announcement, words, moreWords, end } = script.stream;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(announcement + words);
  setImmediate(() => response.end(moreWords + end));
}

function send(request: FuzzRequest): Promise<Answer> {
  return request.isRaw ? sendRaw(request) : sendPlain(request);
}

async function sendPlain({ api, headers, body }: FuzzRequest): Promise<Answer> {
  const answered = await pool.request({
    method: 'POST',
    path: `/api/v1${PATHS[api]}`,
    headers: [...headers, ['Authorization', `Bearer ${tenant.apiKey}`]].flat() as string[],
    body,
  });
  return {
    status: answered.statusCode,
    type: String(answered.headers['content-type']),
    text: await answered.body.text(),
  };
}

async function sendRaw({ api, headers, body }: FuzzRequest): Promise<Answer> {
  const target = `/api/v1${PATHS[api]}`;
  const framing = [
    ['Host', 'gateway'],
    ['Authorization', `Bearer ${tenant.apiKey}`],
    ['Content-Length', String(body.length)],
  ] as const;
  const bytes = bytesOf({ method: 'POST', target, headers: [...framing, ...headers], body });
  const { status, headers: answered, body: text } = await exchange(installation.baseUrl, bytes);
  return { status, type: answered['content-type'] ?? '', text };
}

/** What is wrong with an answer; null where all is well. */
function findBlame({ api, isRaw }: FuzzRequest, { status, type, text }: Answer): string | null {
  const secrets = [PROVIDER_KEY, tenant.apiKey, installation.seed.apiKey, CANARY];
  if (secrets.some((secret) => text.includes(secret))) return 'a secret came through';
  if (status === 200) return type.startsWith('text/event-stream') ? findStreamBlame(api, text) : findWholeBlame(text);
  if (status < 400 || status > 499) return `status ${status}`;
  if (!type.startsWith('application/json')) return `a refusal of type ${type}`;
  return findInsides(text) ?? findEnvelopeBlame(isRaw ? null : api, status, JSON.parse(text));
}

function findStreamBlame(api: UpstreamDialect, text: string): string | null {
  const events = readEvents(api, text);
  const last = { chat: '[DONE]', responses: '[DONE]', messages: 'message_stop' }[api];
  if (events.at(-1)?.name !== last) return `the stream ends with ${events.at(-1)?.name}`;
  if (events.some(({ name }) => name === 'error' || name === 'response.failed')) return 'the stream failed';
  return findProblems(api, events)[0] ?? null;
}

function findWholeBlame(text: string): string | null {
  const { usage } = JSON.parse(text) as { usage?: { cost?: unknown } };
  return typeof usage?.cost === 'number' ? null : 'an answer without its cost';
}

interface Envelope {
  readonly type?: string;
  readonly request_id?: string;
  readonly error: { readonly code?: number; readonly message: unknown; readonly type?: string };
}

/** `null` stands for refusals that may come before it is known which API is asked. */
function findEnvelopeBlame(api: UpstreamDialect | null, status: number, { error, ...rest }: Envelope): string | null {
  if (typeof error?.message !== 'string' || error.message === '') return 'a refusal without a message';
  const isStandard = error.code === status;
  const isOfMessages = rest.type === 'error' && typeof error.type === 'string' && typeof rest.request_id === 'string';
  const isRight = api === 'messages' ? isOfMessages : api === null ? isStandard || isOfMessages : isStandard;
  return isRight ? null : 'a refusal in the wrong shape';
}

function describeRequest({ api, headers, body }: FuzzRequest): string {
  return JSON.stringify({ api, headers, body: body.toString().slice(0, 4_000) });
}

async function judge(request: FuzzRequest): Promise<void> {
  const answered = await send(request).catch((error: unknown) => {
    throw new Error(`no answer to ${describeRequest(request)}`, { cause: error });
  });
  const kind = `${request.api} ${answered.status}${answered.type.startsWith('text/event-stream') ? ' streamed' : ''}`;
  seen.set(kind, (seen.get(kind) ?? 0) + 1);
  const blame = findBlame(request, answered);
  if (blame !== null) throw new Error(`${blame}\n${describeRequest(request)}\n${answered.text.slice(0, 2_000)}`);
}

/** How many calls were answered. */
const served = (): number =>
  [...seen].filter(([kind]) => kind.includes(' 200')).reduce((sum, [, count]) => sum + count, 0);

describe(`${REQUESTS} requests, sensible and not`, () => {
  it('are each answered well or refused well', async () => {
    const many = fc.array(anyFuzzRequest, { minLength: AT_ONCE, maxLength: AT_ONCE });
    await fc.assert(
      // The first request that is answered badly says so itself; smaller ones would say no more.
      fc.asyncProperty(many, async (requests) => void (await Promise.all(requests.map(judge)))),
      { numRuns: Math.ceil(REQUESTS / AT_ONCE), endOnFailure: true },
    );
  }, 300_000);

  it('were of every kind', () => {
    const kinds = ['chat', 'responses', 'messages'].flatMap((api) => [
      `${api} 200`,
      `${api} 200 streamed`,
      `${api} 400`,
    ]);
    const rare = kinds.filter((kind) => (seen.get(kind) ?? 0) < REQUESTS / 100);
    expect({ rare, seen: rare.length === 0 ? null : Object.fromEntries(seen) }).toEqual({ rare: [], seen: null });
  });

  it('are on the books once each, and nothing is open or held', async () => {
    const row = await eventually('every call is settled', 15_000, async () => {
      const found = await installation.database.firstRow<{ open: number; served: number; held: string }>({
        sql: `SELECT (SELECT count(*)::integer FROM generations WHERE state = 'open') AS open,
                     (SELECT count(*)::integer FROM generations WHERE outcome = 'completed') AS served,
                     (SELECT sum(held_usd)::text FROM ledger_accounts) AS held`,
        values: [],
      });
      // An answer does not wait for its charge, and a short call has no row before it.
      const isSettled = found!.open === 0 && Number(found!.held) === 0 && found!.served >= served();
      return isSettled ? found! : undefined;
    });
    expect(row.served).toBe(served());
  });

  it('leave books that balance to the last digit', async () => {
    const ledger = new LedgerRepository(installation.database);
    expect(await ledger.audit()).toEqual([]);
    const { balanceUsd } = await ledger.accountOf(tenant.organizationId);
    const row = await installation.database.firstRow<{ cost: string }>({
      sql: 'SELECT sum(cost_usd)::text AS cost FROM generations',
      values: [],
    });
    expect(amountOf(balanceUsd)).toBe(amountOf(CREDITS) - amountOf(row!.cost));
  });

  it('kill nobody, and leave no failure of ours and no secret in the logs', () => {
    expect(['auth', 'gateway'].map((name) => installation.deathsOf(name))).toEqual([0, 0]);
    for (const name of readdirSync(installation.folder).filter((file) => /\.log(\.1)?$/.test(file))) {
      const text = readFileSync(join(installation.folder, name), 'utf8');
      const secrets = [PROVIDER_KEY, tenant.apiKey, installation.seed.apiKey];
      expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
      expect(text.split('\n').filter((line) => /"level":"(?:error|fatal)"/.test(line))).toEqual([]);
    }
  });
});
