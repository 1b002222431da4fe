import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { ERROR_CODES, isErrorCode } from '@libs/errors';
import { estimatePromptTokens, likelyPromptTokens, usualTextTokens } from '@libs/inference';
import { FakeUpstream, type ReceivedRequest } from '@libs/inference/testing';
import { LedgerRepository } from '@libs/persistence';
import type { ServerResponse } from 'node:http';
import { freePorts } from '../../scripts/services/ports';
import { catalogueOf } from '../support/catalogue';
import { amountOf, sumOf } from '../support/decimal';
import { eventually } from '../support/eventually';
import { Installation } from '../support/installation';
import { COUNTED, FIRST_WORDS, scriptOf, TEXT, type UpstreamDialect } from '../support/provider-scripts';
import { openStream } from './event-stream';
import { allCells, APIS, readEndRows, readFaultRows, verdictOf, type Cell } from './fault-cells';
import { FAULTS, healthy } from './faults';
import { Operator, type Tenant } from '../support/operator';
import { bytesOf, open, write } from './raw-http';
import { CANARY, expectRefusal } from './refusals';
import { settledGeneration } from './stored-generation';
import { findProblems, readEvents, type ReadEvent } from './stream-grammar';

const PRICES = { prompt: '0.000000123', completion: '0.000000457' };
const CREDITS = '100';
const PROMPT = 'Say something that is neither too long nor too short, please.';
/** Longer than a busy machine takes for a good answer, shorter than a test may take. */
/** Of the gateway. Long enough for a busy machine to do all else before it. */
const TIMEOUT_MS = 5_000;
/** How long providers are read on whose callers have gone. */
const LEFTOVER_MS = 700;
/** Cells that wait for a timer cost nothing meanwhile, so they run all at once; of the others, so many. */
const AT_ONCE = 12;
const MEBIBYTE = 1024 * 1024;

const PATHS: Readonly<Record<UpstreamDialect, string>> = {
  chat: '/chat/completions',
  responses: '/responses',
  messages: '/messages',
};

interface Outcome {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** From the caller's leaving to the end of the call at the provider; null where nobody left. */
  readonly endedAfterMs: number | null;
}

interface StoredCall {
  readonly state: string;
  readonly outcome: string;
  readonly provider: string | null;
  readonly provenance: string | null;
  readonly streamed: boolean;
  readonly prompt: number;
  readonly completion: number;
  readonly cost: string;
  readonly charges: readonly string[];
}

const cells = allCells();
const endRows = readEndRows();
/** Providers asked for a cell, in order. */
const asked = new Map<number, string[]>();
const outcomes = new Map<number, Outcome>();
const stored = new Map<number, StoredCall[]>();
/** Settle when the caller of a cell has read what its provider waits for, and when its first call is closed there. */
const heard = new Map<number, PromiseWithResolvers<void>>(cells.map(({ id }) => [id, Promise.withResolvers()]));
const closings = new Map<number, PromiseWithResolvers<void>>(cells.map(({ id }) => [id, Promise.withResolvers()]));

let upstream: FakeUpstream;
let installation: Installation;
let tenant: Tenant;

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.behaviour = behave;
  installation = await Installation.start({
    catalogue: await catalogueOfCells(),
    apps: ['auth', 'gateway'],
    environmentOf: {
      gateway: {
        UPSTREAM_HEADERS_TIMEOUT_MS: String(TIMEOUT_MS),
        UPSTREAM_IDLE_TIMEOUT_MS: String(TIMEOUT_MS),
        LEFTOVER_READ_MS: String(LEFTOVER_MS),
      },
    },
  });
  tenant = await new Operator(installation).createTenant('Matrix', CREDITS);
  const slow = cells.filter(({ fault }) => fault.isSlow);
  const quick = cells.filter(({ fault }) => !fault.isSlow)[Symbol.iterator]();
  const lane = async (): Promise<void> => {
    for (const cell of quick) outcomes.set(cell.id, await run(cell));
  };
  await Promise.all(slow.map(async (cell) => outcomes.set(cell.id, await run(cell))));
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  await untilSettled();
  await readStoredCalls();
}, 240_000);

afterAll(async () => {
  await installation?.stop();
  await upstream?.close();
}, 240_000);

/** The model says which cell a call belongs to, the first part of the path which provider is asked. */
function behave(response: ServerResponse, { path, body }: ReceivedRequest): void {
  const { model, stream } = JSON.parse(body) as { model: string; stream?: boolean };
  if (model === 'gusher') return gush(response);
  const id = Number(model.slice('cell-'.length));
  const [provider = ''] = path.slice(1).split('/');
  asked.get(id)!.push(provider);
  const cell = cells[id]!;
  const isFirst = provider === `first-${id}`;
  if (isFirst) response.once('close', () => closings.get(id)!.resolve());
  const treatment = isFirst ? cell.fault : healthy;
  // While nothing goes through to the caller there is nothing to wait for.
  const untilHeard = (): Promise<void> => (cell.isOpen ? heard.get(id)!.promise : Promise.resolve());
  treatment[stream ? 'stream' : 'whole']!(response, { script: scriptOf(cell.upstream, CANARY), untilHeard });
}

async function catalogueOfCells(): Promise<string> {
  const [closedPort] = await freePorts(1);
  const all = { providers: [] as object[], models: [] as object[] };
  for (const { id, upstream: dialect, fault, hasSecond } of cells) {
    asked.set(id, []);
    const origin = fault.isRefused ? `http://127.0.0.1:${closedPort}` : upstream.origin;
    const models = [
      { provider: `first-${id}`, origin },
      ...(hasSecond ? [{ provider: `second-${id}`, origin: upstream.origin }] : []),
    ];
    const parts = models.map(({ provider, origin: at }) =>
      JSON.parse(
        catalogueOf([
          { slug: `matrix/cell-${id}`, provider, baseUrl: `${at}/${provider}/v1`, apis: [dialect], pricing: PRICES },
        ]),
      ),
    ) as { providers: object[]; models: { endpoints: object[] }[] }[];
    const protocol = dialect === 'messages' ? 'anthropic' : 'openai';
    all.providers.push(...parts.flatMap(({ providers }) => providers.map((one) => ({ ...one, protocol }))));
    const endpoints = parts.flatMap(({ models: [model] }) => model!.endpoints);
    all.models.push({
      ...parts[0]!.models[0],
      endpoints: endpoints.map((endpoint) => ({ ...endpoint, upstream_model: `cell-${id}` })),
    });
  }
  const baseUrl = `${upstream.origin}/gusher/v1`;
  const gusher = JSON.parse(catalogueOf([{ slug: 'matrix/gusher', provider: 'gusher', baseUrl, pricing: PRICES }])) as {
    providers: object[];
    models: { endpoints: object[] }[];
  };
  all.providers.push(...gusher.providers);
  const [model] = gusher.models;
  all.models.push({ ...model, endpoints: model!.endpoints.map((one) => ({ ...one, upstream_model: 'gusher' })) });
  return JSON.stringify(all);
}

const GUSH_PIECE = `data: ${JSON.stringify({ id: 'up-1', choices: [{ index: 0, delta: { content: 'x'.repeat(32_768) } }] })}\n\n`;
const MOST_GUSHED = 256 * MEBIBYTE;
/** Bytes that the gusher could get rid of, and whether it is still at it. */
const gushed = { bytes: 0, isOpen: false };

/** Streams as fast as it is let, for as long as it is let. */
function gush(response: ServerResponse): void {
  Object.assign(gushed, { bytes: 0, isOpen: true });
  response.once('close', () => (gushed.isOpen = false));
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const write = (): void => {
    while (!response.destroyed && gushed.bytes < MOST_GUSHED) {
      gushed.bytes += GUSH_PIECE.length;
      if (!response.write(GUSH_PIECE)) return void response.once('drain', write);
    }
  };
  write();
}

function bodyOf({ id, caller, isStream }: Cell): object {
  const said = caller === 'responses' ? { input: PROMPT } : { messages: [{ role: 'user', content: PROMPT }] };
  const order = [`first-${id}`, `second-${id}`];
  return { model: `matrix/cell-${id}`, ...said, max_tokens: 64, stream: isStream, provider: { order } };
}

async function run(cell: Cell): Promise<Outcome> {
  const { leaves } = cell.fault;
  if (leaves === 'at once') return leaveAtOnce(cell);
  const opened = await openStream(installation.baseUrl, PATHS[cell.caller], tenant.apiKey, bodyOf(cell));
  await opened.next();
  const isAnnounced = cell.row.gate === 'announced';
  if (cell.isOpen && !isAnnounced && opened.status === 200) await opened.until(FIRST_WORDS);
  heard.get(cell.id)!.resolve();
  const text = leaves === 'after words' ? '' : await opened.rest();
  const endedAfterMs = leaves === 'after words' ? await leave(cell, () => opened.leave()) : null;
  return { status: opened.status, headers: Object.fromEntries(opened.headers), text, endedAfterMs };
}

async function leaveAtOnce(cell: Cell): Promise<Outcome> {
  const leaving = new AbortController();
  const call = fetch(installation.baseUrl + PATHS[cell.caller], {
    method: 'POST',
    headers: { authorization: `Bearer ${tenant.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(bodyOf(cell)),
    signal: leaving.signal,
  }).catch(() => undefined);
  await eventually('the provider is asked', 10_000, () => (asked.get(cell.id)!.length > 0 ? true : undefined));
  const endedAfterMs = await leave(cell, () => leaving.abort());
  await call;
  return { status: 0, headers: {}, text: '', endedAfterMs };
}

/** How long the provider was kept busy after its caller had gone. */
async function leave({ id }: Cell, go: () => void): Promise<number> {
  const startedMs = performance.now();
  go();
  await Promise.race([closings.get(id)!.promise, delay(10_000, undefined, { ref: false })]);
  return performance.now() - startedMs;
}

function untilSettled(): Promise<true> {
  return eventually('every call is settled', 15_000, async () => {
    const row = await installation.database.firstRow<{ calls: number; held: string }>({
      sql: `SELECT (SELECT count(*)::integer FROM generations WHERE state = 'settled') AS calls,
                   (SELECT sum(held_usd)::text FROM ledger_accounts) AS held`,
      values: [],
    });
    return row!.calls >= cells.length && Number(row!.held) === 0 ? true : undefined;
  });
}

async function readStoredCalls(): Promise<void> {
  const rows = await installation.database.rows<StoredCall & { readonly model: string }>({
    sql: `
      SELECT g.model, g.state, g.outcome, g.provider, g.streamed, g.usage_provenance AS provenance,
             g.prompt_tokens::integer AS prompt, g.completion_tokens::integer AS completion, g.cost_usd::text AS cost,
             ARRAY(SELECT t.amount_usd::text FROM ledger_transfers t WHERE t.reference = g.id AND t.kind = 'charge') AS charges
      FROM generations g`,
    values: [],
  });
  for (const { model, ...call } of rows) {
    const id = Number(model.slice('matrix/cell-'.length));
    stored.set(id, [...(stored.get(id) ?? []), call]);
  }
}

interface Counts {
  readonly prompt: number;
  readonly completion: number;
}

/** What docs/streams.md says is counted and charged. */
function expectedCounts(cell: Cell): Counts {
  const { end, charged } = verdictOf(cell);
  if (charged === 'nothing') return { prompt: 0, completion: 0 };
  if (charged === 'the report') return COUNTED;
  const body = Buffer.from(JSON.stringify(bodyOf(cell)));
  // A caller that disconnects pays the prompt as it was reserved.
  const estimate = end === 'cancelled' ? estimatePromptTokens(body) : likelyPromptTokens(body);
  if (charged === 'the prompt') return { prompt: estimate, completion: 0 };
  return {
    prompt: cell.upstream === 'messages' ? COUNTED.prompt : estimate,
    completion: usualTextTokens(end === 'completed' ? TEXT : FIRST_WORDS),
  };
}

const costOf = ({ prompt, completion }: Counts): bigint =>
  amountOf(PRICES.prompt) * BigInt(prompt) + amountOf(PRICES.completion) * BigInt(completion);

interface ToldUsage {
  readonly prompt_tokens?: number;
  readonly completion_tokens?: number;
  readonly input_tokens?: number;
  readonly output_tokens?: number;
}

/** The usage of an answer or of the last event that has one, and its cost digit for digit. */
function toldBill(text: string): Counts & { readonly cost: bigint } {
  const start = text.lastIndexOf('"usage":{');
  const usage = objectAt(text, start + '"usage":'.length);
  const counts = JSON.parse(usage) as ToldUsage;
  return {
    prompt: counts.prompt_tokens ?? counts.input_tokens ?? Number.NaN,
    completion: counts.completion_tokens ?? counts.output_tokens ?? Number.NaN,
    cost: amountOf(/"cost":([-+\d.eE]+)/.exec(usage)?.[1] ?? 'no cost'),
  };
}

/** The JSON object that begins at a place; none of the numbers and names in it has a brace. */
function objectAt(text: string, start: number): string {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    if (text[at] === '{') depth += 1;
    if (text[at] === '}' && --depth === 0) return text.slice(start, at + 1);
  }
  throw new Error(`no usage in: ${text.slice(-300)}`);
}

/** An error in the shape of its API. */
function expectToldError(caller: UpstreamDialect, error: unknown, code: string): void {
  if (!isErrorCode(code)) throw new Error(`docs/streams.md tells of no code: ${code}`);
  const { status } = ERROR_CODES[code];
  const shapes: Readonly<Record<UpstreamDialect, object>> = {
    chat: { code: status, message: expect.any(String), metadata: { error_type: code } },
    responses: { code: expect.any(String), message: expect.any(String) },
    messages: { type: expect.stringMatching(/_error$/), message: expect.any(String), error_type: code },
  };
  expect(error).toMatchObject(shapes[caller]);
}

function expectError({ caller, row }: Cell, { status, headers, text }: Outcome): void {
  const code = row.told!;
  if (caller === 'messages') {
    expect({ status, text }).toMatchObject({ status: isErrorCode(code) && ERROR_CODES[code].status });
    expectToldError(caller, (JSON.parse(text) as { error: unknown }).error, code);
  } else {
    expectRefusal({ status, headers, body: text }, isErrorCode(code) ? ERROR_CODES[code].status : 0);
    expectToldError('chat', (JSON.parse(text) as { error: unknown }).error, code);
  }
  expect(headers['retry-after']).toBe(row.name.includes('Retry-After') ? '7' : undefined);
}

/** What ends a stream and may be there only once; the others only tell of usage. */
const TELLS_OF_USAGE = new Set(['usage', 'message_delta']);

function expectEnd(cell: Cell, events: readonly ReadEvent[], end: 'completed' | 'incomplete' | 'failed'): void {
  const { caller, row } = cell;
  const { ends } = endRows.find(({ api }) => api === caller)!;
  const names = events.map(({ name }) => name);
  expect(names.slice(-ends[end].length)).toEqual(ends[end]);
  const final = new Set(
    Object.values(ends)
      .flat()
      .filter((name) => !TELLS_OF_USAGE.has(name)),
  );
  expect(names.filter((name) => final.has(name))).toEqual(ends[end].filter((name) => final.has(name)));
  expect(findProblems(caller, events)).toEqual([]);
  if (end !== 'failed' || row.told === null) return;
  const { members } = events.findLast(({ name }) => name === ends.failed[0])!;
  const response = (members['response'] ?? members) as { error: unknown; error_type?: unknown };
  expectToldError(caller, response.error, row.told);
  if (caller === 'responses') expect(response.error_type).toBe(row.told);
}

function expectAnswer(cell: Cell, { status, text }: Outcome): void {
  const { caller, isStream, row } = cell;
  const { end, servedBy } = verdictOf(cell);
  expect({ status, text: status === 200 ? '' : text }).toEqual({ status: 200, text: '' });
  if (isStream && end !== 'cancelled') expectEnd(cell, readEvents(caller, text), end);
  if (row.gate !== 'announced' || servedBy === 'second') expect(text).toContain(FIRST_WORDS);
  // Errors of messages have no room for a usage.
  if (end === 'failed' && caller === 'messages') return;
  const counts = expectedCounts(cell);
  expect(toldBill(text)).toEqual({ ...counts, cost: costOf(counts) });
}

function expectBooks(cell: Cell): void {
  const { end, servedBy, provenance } = verdictOf(cell);
  const counts = expectedCounts(cell);
  const cost = costOf(counts);
  const calls = stored.get(cell.id) ?? [];
  expect(calls).toHaveLength(1);
  const [call] = calls;
  const provider = servedBy && `${servedBy}-${cell.id}`;
  expect(call).toMatchObject({
    state: 'settled',
    outcome: end,
    provider,
    provenance,
    streamed: cell.isStream,
    ...counts,
  });
  expect(amountOf(call!.cost)).toBe(cost);
  expect(call!.charges.map(amountOf)).toEqual(cost === 0n ? [] : [cost]);
}

describe('docs/streams.md', () => {
  it('has a row for every fault, and no other', () => {
    expect(readFaultRows().map(({ name }) => name)).toEqual(Object.keys(FAULTS));
  });

  it('has a row for every API', () => {
    expect(endRows.map(({ api }) => api)).toEqual(APIS);
  });
});

describe.each(readFaultRows())('a provider that $name', ({ name }) => {
  const described = cells
    .filter(({ row }) => row.name === name)
    .map((cell) => {
      const { caller, upstream: dialect, isStream, hasSecond } = cell;
      const title = `${caller} over ${dialect}, ${isStream ? 'streamed' : 'whole'}, ${hasSecond ? 'with a second' : 'alone'}`;
      return [title, cell] as const;
    });

  it.each(described)('%s', (_title, cell) => {
    const outcome = outcomes.get(cell.id)!;
    const { end, servedBy } = verdictOf(cell);
    expect(asked.get(cell.id)).toEqual([
      ...(cell.fault.isRefused ? [] : [`first-${cell.id}`]),
      ...(servedBy === 'second' ? [`second-${cell.id}`] : []),
    ]);
    expect(outcome.text).not.toContain(CANARY);
    // Before a timer would end it; how quickly, is asked of all of them below.
    if (end === 'cancelled') expect(outcome.endedAfterMs).toBeLessThan(TIMEOUT_MS);
    else if (servedBy === null) expectError(cell, outcome);
    else expectAnswer(cell, outcome);
    expectBooks(cell);
  });
});

describe('after all of them', () => {
  it('the balance is short of the charges, and of nothing else', async () => {
    const ledger = new LedgerRepository(installation.database);
    const { balanceUsd, heldUsd } = await ledger.accountOf(tenant.organizationId);
    const expected = sumOf(cells.map((cell) => costOf(expectedCounts(cell))));
    expect({ balance: amountOf(balanceUsd), held: amountOf(heldUsd) }).toEqual({
      balance: amountOf(CREDITS) - expected,
      held: 0n,
    });
    expect(await ledger.audit()).toEqual([]);
  });

  it('providers whose callers had gone were let go soon after the last read', () => {
    const tookMs = [...outcomes.values()].map(({ endedAfterMs }) => endedAfterMs).filter((ms) => ms !== null);
    // A busy machine may stand still for longer than that, with a dozen of them on it.
    expect(tookMs.filter((ms) => ms < LEFTOVER_MS + 1_000).length).toBeGreaterThan(0.75 * tookMs.length);
  });

  it('the gateway has never died', () => {
    expect(installation.deathsOf('gateway')).toBe(0);
  });
});

describe('a caller who stops reading', () => {
  it.each(['chat', 'messages'] as const)('%s: stops the provider, and pays once for what was said', async (caller) => {
    const said = { model: 'matrix/gusher', messages: [{ role: 'user', content: PROMPT }], stream: true };
    const body = JSON.stringify(said);
    const socket = await open(installation.baseUrl);
    const headers = [
      ['Host', 'gateway'],
      ['Authorization', `Bearer ${tenant.apiKey}`],
      ['Content-Type', 'application/json'],
      ['Content-Length', String(body.length)],
    ] as const;
    await write(socket, bytesOf({ method: 'POST', target: `/api/v1${PATHS[caller]}`, headers, body }));
    const [head] = (await once(socket, 'data')) as [Buffer];
    socket.pause();
    const id = /x-generation-id: (\S+)/i.exec(head.toString('latin1'))![1]!;
    await untilStill(() => gushed.bytes);
    // Two sockets hold some, and the gateway no more than a quarter of a mebibyte and one event.
    expect(gushed.bytes).toBeLessThan(MOST_GUSHED / 8);
    expect(gushed.isOpen).toBe(true);
    socket.destroy();
    await eventually('the provider is let go', 5_000, () => (gushed.isOpen ? undefined : true));
    const row = await settledGeneration(installation.database, id);
    expect(row).toMatchObject({ outcome: 'cancelled', provenance: 'partial' });
    expect(row.charges).toEqual([row.cost]);
    expect(row.completion_tokens).toBeLessThanOrEqual(gushed.bytes);
  });

  /** Until a number has been the same for half a second. */
  async function untilStill(read: () => number): Promise<void> {
    for (let earlier = -1; earlier !== read();) {
      earlier = read();
      await delay(500);
    }
  }
});
