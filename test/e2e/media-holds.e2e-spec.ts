import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { hashApiKey } from '@libs/contracts';
import { FakeUpstream } from '@libs/inference/testing';
import { LedgerRepository } from '@libs/persistence';
import { densePdf, denseText } from '../../apps/gateway/src/parsers/testing/dense-pdf';
import { greedyCatalogue, GREEDY_PRICES, wholeAnswer } from '../support/greedy-model';
import type { Installation } from '../support/installation';
import { settledBalanceUsd } from '../support/settled-balance';
import { Operator, type Tenant } from '../support/operator';
import type { UpstreamDialect } from '../support/provider-scripts';
import { say } from '../support/say';
import { giveBack, shareInstallation } from '../support/shared-installations';

const CREDIT_USD = 0.05;
const AT_ONCE = 4;
const CONTEXT = 200_000;
const PRICE = Number(GREEDY_PRICES.prompt);
/** What Claude charges for the picture of a page, in addition to its text. */
const PAGE_TOKENS = 1_568;
const LINK = 'https://example.com/book.pdf';
const PATHS: Readonly<Record<UpstreamDialect, string>> = {
  chat: '/chat/completions',
  responses: '/responses',
  messages: '/messages',
};
const TEXT = denseText('The committee reviewed the quarterly indicators and found that costs had risen. ');
const TEXT_TOKENS = encode(TEXT).length;

/** A provider that charges for a file what Claude does, whatever the gateway knows of it. */
let promptTokens = 0;
/** Keeps its answers back. */
let held: { readonly until: Promise<void>; readonly begun: () => void } | null = null;
let upstream: FakeUpstream;
let installation: Installation;
let ledger: LedgerRepository;

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.behaviour = (response, { path }) => {
    const answer = wholeAnswer(path.split('/')[1] as UpstreamDialect, { prompt: promptTokens, completion: 8 });
    const end = (): void =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    held?.begun();
    if (held === null) end();
    else void held.until.then(end);
  };
  installation = await shareInstallation({
    catalogue: greedyCatalogue(upstream.origin, { contextLength: CONTEXT, inputs: ['text', 'image', 'file'] }),
    apps: ['auth', 'gateway'],
  });
  ledger = new LedgerRepository(installation.database);
}, 240_000);

afterAll(async () => {
  await giveBack(installation);
  await upstream?.close();
}, 240_000);

/** A request for a summary of a file. */
function bodyOf(api: UpstreamDialect, base64: string | null): object {
  const url = base64 === null ? LINK : `data:application/pdf;base64,${base64}`;
  const words = { type: api === 'responses' ? 'input_text' : 'text', text: 'Sum up.' };
  const source =
    base64 === null ? { type: 'url', url } : { type: 'base64', media_type: 'application/pdf', data: base64 };
  const file = {
    chat: { type: 'file', file: { filename: 'a.pdf', file_data: url } },
    responses: { type: 'input_file', ...(base64 === null ? { file_url: url } : { filename: 'a.pdf', file_data: url }) },
    messages: { source, type: 'document' },
  }[api];
  const turns = [{ role: 'user', content: [file, words] }];
  const cap = api === 'responses' ? { max_output_tokens: 16 } : { max_tokens: 16 };
  return { model: `greedy/${api}`, ...cap, ...(api === 'responses' ? { input: turns } : { messages: turns }) };
}

async function post({ apiKey }: Tenant, api: UpstreamDialect, body: object): Promise<number> {
  const response = await fetch(installation.baseUrl + PATHS[api], {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  await response.text();
  return response.status;
}

/** What a tenant with this credit spent once nothing is held any more. */
async function spent({ organizationId }: Tenant, creditUsd: number): Promise<number> {
  return creditUsd - (await settledBalanceUsd(ledger, organizationId, 30_000));
}

const APIS: readonly UpstreamDialect[] = ['chat', 'responses', 'messages'];
const FILES: readonly (readonly [name: string, pages: number, bytes: Buffer | null])[] = [
  ['a PDF behind a link', 100, null],
  ['a PDF of 100 pages in a few kilobytes', 100, densePdf(100, TEXT)],
  ['a PDF of 100 pages that says it has one', 100, densePdf(100, TEXT, 1)],
  ['a PDF of one page', 1, densePdf(1, TEXT)],
  ['a damaged PDF', 60, Buffer.concat([Buffer.from('%PDF-1.7\n'), Buffer.alloc(2_000, 7)])],
];
const CASES = FILES.flatMap(([name, pages, bytes]) => APIS.map((api) => [name, api, pages, bytes] as const));

it.each(CASES)(
  'lets 0.05 USD pay for no more than that for %s on %s',
  async (name, api, pages, bytes) => {
    promptTokens = Math.min(CONTEXT, pages * (TEXT_TOKENS + PAGE_TOKENS));
    const tenant = await new Operator(installation).createTenant(`${name} ${api}`, String(CREDIT_USD));
    const body = bodyOf(api, bytes?.toString('base64') ?? null);
    const statuses = await Promise.all(Array.from({ length: AT_ONCE }, () => post(tenant, api, body)));
    const usd = await spent(tenant, CREDIT_USD);
    say(`${name} on ${api}: ${promptTokens} tokens, ${statuses.join(' ')}, ${usd.toFixed(4)} USD`);
    // An estimate is at least 0.6 of the tokens, so a call that was let in costs at most 1/0.6 of the credit.
    expect(usd).toBeLessThanOrEqual(CREDIT_USD / 0.6);
    expect(new Set(statuses)).toEqual(new Set([402]));
  },
  60_000,
);

it.each(APIS)('lets one call at a time on %s cost more than its file says', async (api) => {
  promptTokens = CONTEXT;
  const tenant = await new Operator(installation).createTenant(`lying ${api}`, String(CREDIT_USD));
  const body = bodyOf(api, densePdf(1, 'One word.').toString('base64'));
  const statuses = await Promise.all(Array.from({ length: 20 }, () => post(tenant, api, body)));
  const usd = await spent(tenant, CREDIT_USD);
  say(`a lying PDF on ${api}: ${statuses.join(' ')}, ${usd.toFixed(4)} USD`);
  expect(statuses.filter((status) => status === 200)).toHaveLength(1);
  expect(statuses.filter((status) => status === 402)).toHaveLength(19);
  expect(usd).toBeLessThanOrEqual(CREDIT_USD + CONTEXT * PRICE * 1.01);
});

it('lets calls without media go on while a call with a file holds less than it may cost', async () => {
  promptTokens = 10;
  const tenant = await new Operator(installation).createTenant('beside', '2');
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  held = { until: gate.promise, begun: begun.resolve };
  const withFile = post(tenant, 'chat', bodyOf('chat', densePdf(1, 'One word.').toString('base64')));
  await begun.promise;
  held = null;
  const text = { model: 'greedy/chat', max_tokens: 16, messages: [{ role: 'user', content: 'Hello' }] };
  const statuses = await Promise.all(Array.from({ length: 10 }, () => post(tenant, 'chat', text)));
  gate.resolve();
  expect([...new Set(statuses), await withFile]).toEqual([200, 200]);
});

it('lets one call at a time of a key cost more than its limit, however high the credits are', async () => {
  promptTokens = CONTEXT;
  const tenant = await new Operator(installation).createTenant('limited key', '2000');
  const limited = await fetch(`${installation.baseUrl}/keys/${hashApiKey(tenant.apiKey)}`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${tenant.managementKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ limit: 0.5 }),
  });
  expect(limited.status).toBe(200);
  const body = bodyOf('chat', densePdf(1, 'One word.').toString('base64'));
  const statuses = await Promise.all(Array.from({ length: 8 }, () => post(tenant, 'chat', body)));
  const usd = await spent(tenant, 2_000);
  say(`a key of 0.5 USD: ${statuses.join(' ')}, ${usd.toFixed(4)} USD`);
  expect(statuses.filter((status) => status === 200)).toHaveLength(1);
  expect(usd).toBeLessThanOrEqual(0.5 + CONTEXT * PRICE * 1.01);
});

it('charges callers who leave what their files really cost, though the model goes on for long', async () => {
  promptTokens = CONTEXT - 10_000;
  const LEAVERS = 4;
  const creditUsd = 100;
  const tenant = await new Operator(installation).createTenant('leavers', String(creditUsd));
  const whole = upstream.behaviour;
  upstream.behaviour = (response) => void talkOn(response);
  const file = bodyOf('chat', densePdf(1, 'One word.').toString('base64'));
  const body = { ...file, stream: true, max_tokens: 4_000 };
  try {
    await Promise.all(Array.from({ length: LEAVERS }, () => leaveAtFirstByte(tenant, body)));
    const usd = await spent(tenant, creditUsd);
    say(`${LEAVERS} callers who left: ${usd.toFixed(4)} USD`);
    expect(usd).toBeGreaterThanOrEqual(LEAVERS * promptTokens * PRICE);
  } finally {
    upstream.behaviour = whole;
  }
});

/** A model that writes twice as much as is usually read without a reader, and then says what was used. */
async function talkOn(response: ServerResponse): Promise<void> {
  const chunk = (more: object): string =>
    `data: ${JSON.stringify({ id: 'u', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], ...more })}\n\n`;
  const says = (content: string): string => chunk({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write(says('Well, '));
  for (let part = 0; part < 40; part += 1) {
    await delay(50);
    response.write(says('and so it goes on and on '.repeat(20)));
  }
  const usage = { prompt_tokens: promptTokens, completion_tokens: 4_000, total_tokens: promptTokens + 4_000 };
  const stop = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage };
  response.end(`${chunk(stop)}data: [DONE]\n\n`);
}

async function leaveAtFirstByte({ apiKey }: Tenant, body: object): Promise<void> {
  const leaving = new AbortController();
  const response = await fetch(installation.baseUrl + PATHS.chat, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: leaving.signal,
  });
  expect(response.status).toBe(200);
  await response.body!.getReader().read();
  leaving.abort();
}

it.each(APIS)('reserves for a small PDF on %s little more than what it costs', async (api) => {
  promptTokens = TEXT_TOKENS + PAGE_TOKENS;
  const creditUsd = 4 * promptTokens * PRICE;
  const tenant = await new Operator(installation).createTenant(`small ${api}`, creditUsd.toFixed(6));
  expect(await post(tenant, api, bodyOf(api, densePdf(1, TEXT).toString('base64')))).toBe(200);
  expect(await spent(tenant, creditUsd)).toBeGreaterThanOrEqual(promptTokens * PRICE);
});

it('reserves no more for a file that the plugin turns into text than for the text', async () => {
  promptTokens = TEXT_TOKENS * 5;
  // Text with many long words reserves up to 2.5 times what it costs.
  const creditUsd = 2.5 * promptTokens * PRICE;
  const tenant = await new Operator(installation).createTenant('plugin', creditUsd.toFixed(6));
  const file = bodyOf('chat', densePdf(5, TEXT).toString('base64'));
  const body = { ...file, plugins: [{ id: 'file-parser', pdf: { engine: 'pdf-text' } }] };
  expect(await post(tenant, 'chat', body)).toBe(200);
});
