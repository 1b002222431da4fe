import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { estimatePromptTokens } from '@libs/inference';
import { FakeUpstream, type ReceivedRequest } from '@libs/inference/testing';
import { LedgerRepository } from '@libs/persistence';
import { catalogueOf, type TestModel } from '../support/catalogue';
import { amountOf } from '../support/decimal';
import { eventually } from '../support/eventually';
import { Installation } from '../support/installation';
import { Operator, type Tenant } from '../support/operator';
import { COUNTED, FIRST_WORDS, scriptOf, type UpstreamDialect } from '../support/provider-scripts';
import { openStream } from './event-stream';
import { settledGeneration, type StoredGeneration } from './stored-generation';

const PRICES = { prompt: '0.000000123', completion: '0.000000457' };
const DIALECTS: readonly UpstreamDialect[] = ['chat', 'responses', 'messages'];
const PATHS: Readonly<Record<UpstreamDialect, string>> = {
  chat: '/chat/completions',
  responses: '/responses',
  messages: '/messages',
};
const PROMPT = 'Say something that is neither too long nor too short, please.';
/** Longer than a busy machine takes between a disconnection and the provider's next words. */
const LONGEST_MS = 3_000;
const MOST_TOKENS = 200;
/** When a provider goes on whose caller must have gone. */
const LATER_MS = 500;
const PAIRS = DIALECTS.flatMap((caller) => DIALECTS.map((upstream) => [caller, upstream] as const));
/** Calls that are not answered wait for the longest time, so they wait together, each at a model of its own. */
const SILENT = PAIRS.flatMap(([caller, dialect]) =>
  [true, false].map((stream) => ({ caller, dialect, stream, model: `${dialect}-silent-${caller}-${stream}` })),
);

let upstream: FakeUpstream;
let installation: Installation;
let tenant: Tenant;
/** The provider's ends of calls, by what the caller says in its prompt. */
const calls = new Map<string, ServerResponse[]>();

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.behaviour = behave;
  const modelOf = (dialect: UpstreamDialect, manner: string, name = `${dialect}-${manner}`): TestModel => ({
    slug: `left/${name}`,
    provider: `left-${name}`,
    protocol: dialect === 'messages' ? 'anthropic' : 'openai',
    baseUrl: `${upstream.origin}/${dialect}/${manner}/v1`,
    apis: [dialect],
    pricing: PRICES,
  });
  const models = DIALECTS.flatMap((dialect) => Object.keys(MANNERS).map((manner) => modelOf(dialect, manner)));
  const silentModels = SILENT.map(({ dialect, model }) => modelOf(dialect, 'silent', model));
  installation = await Installation.start({
    catalogue: catalogueOf([...models, ...silentModels]),
    apps: ['auth', 'gateway'],
    environmentOf: {
      gateway: {
        LEFTOVER_READ_MS: String(LONGEST_MS),
        LEFTOVER_READ_TOKENS: String(MOST_TOKENS),
        LEFTOVER_READS: '400',
        DRAIN_DELAY_MS: '0',
      },
    },
  });
  tenant = await new Operator(installation).createTenant('Leavers', '100');
}, 240_000);

afterAll(async () => {
  await installation?.stop();
  await upstream?.close();
}, 240_000);

type Manner = (response: ServerResponse, dialect: UpstreamDialect, isStream: boolean) => void;

const begin = (response: ServerResponse, dialect: UpstreamDialect): void => {
  const { announcement, words } = scriptOf(dialect, '').stream;
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write(announcement + words);
};

const MANNERS: Readonly<Record<string, Manner>> = {
  /** Says some words, and much later the rest and what was used. */
  reports: (response, dialect, isStream) => {
    const { stream, answer } = scriptOf(dialect, '');
    if (isStream) begin(response, dialect);
    const end = isStream ? stream.moreWords + stream.end : answer;
    setTimeout(() => response.end(end), LATER_MS);
  },
  /** Says nothing for a while, and then all of it. */
  late: (response, dialect) => {
    const { announcement, words, moreWords, end } = scriptOf(dialect, '').stream;
    setTimeout(() => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(announcement + words + moreWords + end);
    }, LATER_MS);
  },
  /** Goes on talking for ever. */
  endless: (response, dialect) => {
    begin(response, dialect);
    const talking = setInterval(() => response.write(scriptOf(dialect, '').stream.moreWords), 10);
    response.once('close', () => clearInterval(talking));
  },
  silent: () => undefined,
};

function behave(response: ServerResponse, { path, body }: ReceivedRequest): void {
  const [, dialect = '', manner = ''] = path.split('/');
  const tag = /tag-[a-z0-9-]+/.exec(body)?.[0] ?? '';
  calls.set(tag, [...(calls.get(tag) ?? []), response]);
  MANNERS[manner]!(response, dialect as UpstreamDialect, (JSON.parse(body) as { stream?: boolean }).stream === true);
}

let tags = 0;

/** A request of one caller, and the tag by which the provider's end of it is found. */
function requestOf(caller: UpstreamDialect, model: string, stream: boolean): { tag: string; body: object } {
  const tag = `tag-${(tags += 1)}-x`;
  const text = `${PROMPT} ${tag}`;
  const said = caller === 'responses' ? { input: text } : { messages: [{ role: 'user', content: text }] };
  const limit = caller === 'responses' ? { max_output_tokens: 64 } : { max_tokens: 64 };
  return { tag, body: { model: `left/${model}`, ...said, ...limit, stream } };
}

const untilAsked = (tag: string): Promise<ServerResponse> =>
  eventually('the provider is asked', 10_000, () => calls.get(tag)?.[0]);

/** Leaves after the first words. */
async function leaveMidStream(
  caller: UpstreamDialect,
  model: string,
): Promise<{ id: string; tag: string; body: object }> {
  const { tag, body } = requestOf(caller, model, true);
  const opened = await openStream(installation.baseUrl, PATHS[caller], tenant.apiKey, body);
  await opened.until(FIRST_WORDS);
  opened.leave();
  return { id: opened.headers.get('x-generation-id')!, tag, body };
}

/** Leaves before a byte of the answer has come. */
async function leaveEarly(
  caller: UpstreamDialect,
  model: string,
  stream: boolean,
): Promise<{ tag: string; body: object }> {
  const { tag, body } = requestOf(caller, model, stream);
  const leaving = new AbortController();
  const answered = fetch(installation.baseUrl + PATHS[caller], {
    method: 'POST',
    headers: { authorization: `Bearer ${tenant.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: leaving.signal,
  });
  await untilAsked(tag);
  leaving.abort();
  await expect(answered).rejects.toThrow();
  return { tag, body };
}

/** The row of the only settled call to a model. */
async function rowOfLatest(model: string): Promise<StoredGeneration> {
  const id = await eventually(`a call to ${model} is on the books`, 10_000, async () => {
    const row = await installation.database.firstRow<{ id: string }>({
      sql: `SELECT id FROM generations WHERE model = $1 AND state = 'settled' AND NOT (id = ANY($2)) LIMIT 1`,
      values: [`left/${model}`, [...known]],
    });
    return row?.id;
  });
  known.add(id);
  return settledGeneration(installation.database, id);
}
const known = new Set<string>();

const costOf = (prompt: number, completion: number): bigint =>
  amountOf(PRICES.prompt) * BigInt(prompt) + amountOf(PRICES.completion) * BigInt(completion);

/** The bill is the provider's report, charged once. */
function expectReport(row: StoredGeneration): void {
  expect(row).toMatchObject({
    outcome: 'cancelled',
    provenance: 'upstream',
    prompt_tokens: COUNTED.prompt,
    completion_tokens: COUNTED.completion,
  });
  expectCharge(row);
}

function expectCharge(row: StoredGeneration): void {
  expect(amountOf(row.cost)).toBe(costOf(row.prompt_tokens, row.completion_tokens));
  expect(row.charges.map(amountOf)).toEqual([amountOf(row.cost)]);
}

describe.each(PAIRS)('a caller of %s who leaves a provider of %s', (caller, dialect) => {
  it('mid-stream pays what the provider then reports', async () => {
    const { id, tag } = await leaveMidStream(caller, `${dialect}-reports`);
    known.add(id);
    const row = await eventually('the call is settled', 10_000, async () => {
      const stored = await settledGeneration(installation.database, id);
      return stored.state === 'settled' ? stored : undefined;
    });
    expectReport(row);
    expect(calls.get(tag)![0]!.writableFinished).toBe(true);
  });

  it('before the first byte of a stream pays what the provider reports', async () => {
    const { tag } = await leaveEarly(caller, `${dialect}-late`, true);
    expectReport(await rowOfLatest(`${dialect}-late`));
    expect(calls.get(tag)).toHaveLength(1);
  });

  it('during a whole answer pays for it', async () => {
    await leaveEarly(caller, `${dialect}-reports`, false);
    expectReport(await rowOfLatest(`${dialect}-reports`));
  });

  it('that never ends pays for what came, and its connection is closed after the bounds', async () => {
    const { id, tag, body } = await leaveMidStream(caller, `${dialect}-endless`);
    known.add(id);
    const [call] = calls.get(tag)!;
    if (!call!.destroyed) await once(call!, 'close');
    const row = await settledGeneration(installation.database, id);
    const estimate = estimatePromptTokens(Buffer.from(JSON.stringify(body)));
    expect(row).toMatchObject({
      outcome: 'cancelled',
      provenance: 'partial',
      prompt_tokens: dialect === 'messages' ? COUNTED.prompt : estimate,
    });
    expect(row.completion_tokens).toBeGreaterThan(MOST_TOKENS);
    expect(row.completion_tokens).toBeLessThan(MOST_TOKENS * 3);
    expectCharge(row);
  });
});

describe('callers who leave a provider that never answers', () => {
  let left: ReadonlyMap<string, Promise<object>>;

  beforeAll(() => {
    left = new Map(
      SILENT.map(({ caller, model, stream }) => [
        model,
        leaveEarly(caller, model, stream).then(async ({ tag, body }) => {
          const [call] = calls.get(tag)!;
          if (!call!.destroyed) await once(call!, 'close');
          return body;
        }),
      ]),
    );
  });

  it.each(SILENT)('pay the prompt: $caller, $dialect, stream: $stream', async ({ model }) => {
    const body = await left.get(model)!;
    const row = await rowOfLatest(model);
    const prompt = estimatePromptTokens(Buffer.from(JSON.stringify(body)));
    expect(row).toMatchObject({ outcome: 'cancelled', prompt_tokens: prompt, completion_tokens: 0 });
    expectCharge(row);
  });
});

describe('many callers who leave at their first token', () => {
  it('all pay, and the gateway lets the providers go', async () => {
    const left: { id: string; tag: string }[] = [];
    for (let round = 0; round < 10; round += 1) {
      left.push(...(await Promise.all(Array.from({ length: 20 }, () => leaveMidStream('chat', 'chat-endless')))));
    }
    for (const { id, tag } of left) {
      const row = await settledGeneration(installation.database, id);
      expect(row.outcome).toBe('cancelled');
      expect(row.prompt_tokens).toBeGreaterThan(0);
      expect(row.completion_tokens).toBeGreaterThan(0);
      expectCharge(row);
      await eventually('the provider is let go', 5_000, () => (calls.get(tag)![0]!.destroyed ? true : undefined));
    }
  });
});

describe('a gateway that stops while it reads on', () => {
  it('settles the bills before it ends', async () => {
    const { tag } = await leaveEarly('chat', 'chat-silent', false);
    const { id } = await leaveMidStream('chat', 'chat-reports');
    await delay(100);
    process.kill(installation.pidOf('gateway'), 'SIGTERM');
    expectReport(await settledGeneration(installation.database, id));
    const [call] = calls.get(tag)!;
    await eventually('the provider is let go', LONGEST_MS + 2_000, () => (call!.destroyed ? true : undefined));
    const row = await rowOfLatest('chat-silent');
    expect(row).toMatchObject({ outcome: 'cancelled', completion_tokens: 0 });
    expectCharge(row);
    await installation.untilReady();
    expect(await new LedgerRepository(installation.database).audit()).toEqual([]);
  });
});
