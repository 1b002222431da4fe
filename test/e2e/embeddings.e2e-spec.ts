import type { ServerResponse } from 'node:http';
import { FakeUpstream, type Behaviour, type ReceivedRequest } from '@libs/inference/testing';
import { LedgerRepository } from '@libs/persistence';
import { catalogueOf, type TestModel } from '../support/catalogue';
import type { ApiAnswer, ApiClient } from '../support/client';
import { amountOf, textOf } from '../support/decimal';
import { eventually } from '../support/eventually';
import { type Installation, PROVIDER_KEY } from '../support/installation';
import { giveBack, shareInstallation } from '../support/shared-installations';
import { CANARY, expectRefusal } from './refusals';
import { settledGeneration } from './stored-generation';

const PRICES = { prompt: '0.000000123', completion: '0' };
const IMAGE_TOKEN = '0.00000047';
const TOKENS = 1_371;
const COST = textOf(amountOf(PRICES.prompt) * BigInt(TOKENS));
/** None of them is a 32-bit float, so every spelling shows what was rounded where. */
const VECTOR = [0.1, -0.2, 3.3e-7, 1];
const ROUNDED = VECTOR.map(Math.fround);
const PICTURE = 'data:image/png;base64,iVBORw0KGgo=';

interface AskedFor {
  readonly input: unknown;
  readonly dimensions?: number;
}

const packed = (vector: readonly number[]): string => Buffer.from(Float32Array.from(vector).buffer).toString('base64');
const countOf = (input: unknown): number => (Array.isArray(input) && typeof input[0] !== 'number' ? input.length : 1);

function send(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

const item = (index: number, embedding: unknown = VECTOR): object => ({ object: 'embedding', index, embedding });

/** An OpenAI-speaking upstream; `change` spoils the list of its vectors. */
const embeds =
  (embedding: unknown, change = (data: object[]): unknown => data, details?: object): Behaviour =>
  (response, { body }) => {
    const { input } = JSON.parse(body) as AskedFor;
    const data = Array.from({ length: countOf(input) }, (_, index) => item(index, embedding));
    const usage = {
      prompt_tokens: TOKENS,
      total_tokens: TOKENS,
      ...(details && { prompt_tokens_details: details }),
    };
    send(response, 200, { object: 'list', model: 'theirs', data: change(data), usage });
  };
const fails =
  (status: number, headers: Record<string, string> = {}): Behaviour =>
  (response) =>
    send(response, status, { error: { message: CANARY, type: 'error', code: null } }, headers);

function cohere(response: ServerResponse, { body, path }: ReceivedRequest): void {
  if (path.endsWith('/chat')) {
    const usage = { billed_units: { input_tokens: TOKENS, output_tokens: 2 }, tokens: { input_tokens: 9_999 } };
    const message = { role: 'assistant', content: [{ type: 'text', text: 'Something.' }] };
    return send(response, 200, { id: 'up-1', message, finish_reason: 'COMPLETE', usage });
  }
  const { texts = [], inputs = [] } = JSON.parse(body) as { texts?: string[]; inputs?: unknown[] };
  const vectors = [...texts, ...inputs].map((text) => [Number(text) || 0, 0.5]);
  const meta = { billed_units: { input_tokens: texts.length, image_tokens: inputs.length * 100 } };
  send(response, 200, { id: 'up-1', embeddings: { float: vectors }, meta });
}

function mistral(response: ServerResponse, request: ReceivedRequest): void {
  if (!request.path.endsWith('/chat/completions')) return embeds(packed(VECTOR))(response, request);
  const content = [
    { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] },
    { type: 'text', text: 'Something.' },
  ];
  const choice = { index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' };
  const usage = { prompt_tokens: TOKENS, completion_tokens: 2, total_tokens: TOKENS + 2 };
  send(response, 200, { id: 'up-1', object: 'chat.completion', created: 1, choices: [choice], usage });
}

/** By the first part of the path, which is the provider. */
const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  // Whatever was asked for, each of them has but one spelling.
  numbers: embeds(VECTOR),
  packs: embeds(packed(VECTOR)),
  sized: embeds(VECTOR),
  sees: embeds(VECTOR, undefined, { text_tokens: 371, image_tokens: 1_000 }),
  quiet: (response) => send(response, 200, { data: [item(0)] }),
  cohere,
  mistral,
  // Answers that are none.
  swaps: embeds(VECTOR, (data) => data.toReversed()),
  'loses-one': embeds(VECTOR, (data) => data.slice(1)),
  'adds-one': embeds(VECTOR, (data) => [...data, item(data.length)]),
  repeats: embeds(VECTOR, (data) => data.map(() => item(0))),
  'cuts-one': embeds(VECTOR, (data) => [...data.slice(1), item(1, VECTOR.slice(1))]),
  'cannot-count': (response) => send(response, 200, '{"data":[{"index":0,"embedding":[NaN]}]}'),
  'packs-nothing': embeds(packed([1, Number.NaN, Infinity, 1])),
  // Providers that fail.
  limited: fails(429, { 'retry-after': '7' }),
  broken: fails(500),
  overloaded: fails(529),
  slow: fails(504),
  waits: () => undefined,
};
const SPOILED = ['swaps', 'loses-one', 'adds-one', 'repeats', 'cuts-one', 'cannot-count', 'packs-nothing'];

interface TestCatalogue {
  models: {
    slug: string;
    architecture: { input_modalities: string[] };
    endpoints: { pricing: object; capabilities: object; context_length: number }[];
  }[];
}

let upstream: FakeUpstream;
let installation: Installation;
let client: ApiClient;

function catalogue(): string {
  const model = (name: string): TestModel => ({
    slug: `emb/${name}`,
    provider: `emb-${name}`,
    baseUrl: `${upstream.origin}/${name}/v1`,
    apis: ['embeddings'],
    pricing: PRICES,
    ...((name === 'cohere' || name === 'mistral') && { protocol: name }),
  });
  const chat = (name: string): TestModel => ({ ...model(name), slug: `emb/${name}-chat`, apis: ['chat'] });
  const names = Object.keys(BEHAVIOURS);
  const text = catalogueOf([...names.map(model), chat('cohere'), chat('mistral')]);
  const parsed = JSON.parse(text) as TestCatalogue & { providers: { slug: string }[] };
  parsed.providers = parsed.providers.filter(({ slug }, i, all) => all.findIndex((one) => one.slug === slug) === i);
  const change = (name: string, capabilities: object, pricing: object = {}): TestCatalogue['models'][number] => {
    const found = parsed.models.find(({ slug }) => slug === `emb/${name}`)!;
    Object.assign(found.endpoints[0]!, { capabilities, pricing: { ...PRICES, ...pricing } });
    return found;
  };
  change('sees', {}, { image_token: IMAGE_TOKEN }).architecture.input_modalities = ['text', 'image'];
  change('cohere', {}).architecture.input_modalities = ['text', 'image'];
  change('sized', { embeddings: { dimensions: [4, 8], refuses: ['input_type'] } });
  return JSON.stringify(parsed);
}

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.behaviour = (response, request) => BEHAVIOURS[request.path.split('/')[1]!]!(response, request);
  installation = await shareInstallation({
    catalogue: catalogue(),
    apps: ['auth', 'gateway'],
  });
  client = installation.client();
}, 240_000);

afterAll(async () => {
  await client?.close();
  await giveBack(installation);
  await upstream?.close();
});

interface Embedded {
  readonly data: readonly { readonly index: number; readonly embedding: unknown }[];
  readonly usage: { readonly prompt_tokens: number; readonly cost: string; readonly prompt_tokens_details?: object };
}

const embed = (model: string, members: object = {}): Promise<ApiAnswer<Embedded>> =>
  client.request('POST', '/embeddings', { model: `emb/${model}`, input: 'words', ...members });
const vectorsIn = ({ body }: ApiAnswer<Embedded>): unknown[] => body.data.map(({ embedding }) => embedding);
const generationIdOf = ({ headers }: ApiAnswer): string => String(headers['x-generation-id']);
const lastSent = (): Record<string, unknown> => JSON.parse(upstream.requests.at(-1)!.body) as Record<string, unknown>;

describe('embeddings come in the spelling that was asked for', () => {
  it.each([
    ['numbers of an upstream that knows no other', 'numbers', {}, VECTOR],
    ['the same as float', 'numbers', { encoding_format: 'float' }, VECTOR],
    ['the same as base64', 'numbers', { encoding_format: 'base64' }, packed(VECTOR)],
    ['base64 of an upstream that knows no other', 'packs', { encoding_format: 'base64' }, packed(VECTOR)],
    ['the same as float', 'packs', { encoding_format: 'float' }, ROUNDED],
    ['the same where nothing was asked for', 'packs', {}, ROUNDED],
    ['base64 of Mistral as float', 'mistral', { encoding_format: 'float' }, ROUNDED],
    ['numbers of Cohere as base64', 'cohere', { encoding_format: 'base64', input: '7' }, packed([7, 0.5])],
  ])('%s', async (_case, model, members, vector) => {
    const answer = await embed(model, members);
    expect(answer.status).toBe(200);
    expect(vectorsIn(answer)).toEqual([vector]);
  });

  it('with four bytes for each of the dimensions', async () => {
    const answer = await embed('sized', { dimensions: 4, encoding_format: 'base64' });
    expect(Buffer.from(vectorsIn(answer)[0] as string, 'base64')).toHaveLength(4 * 4);
    expect(lastSent()).toMatchObject({ dimensions: 4 });
  });
});

describe('an embedding', () => {
  it.each([
    ['a text', 'words', 1],
    ['a text twice', ['words', 'words'], 2],
    ['token ids', [1, 2, 3], 1],
    ['lists of token ids', [[1, 2], [3]], 2],
    ['text with half a character and a zero', '\ud83d \u0000', 1],
  ])('of %s comes once for each input, and reaches the provider as it is', async (_case, input, count) => {
    const answer = await embed('numbers', { input });
    expect(answer.body.data.map(({ index }) => index)).toEqual(Array.from({ length: count }, (_, n) => n));
    expect(lastSent()['input']).toEqual(input);
  });

  it('tells the provider of its user only by a hash, and nothing of the routing', async () => {
    await embed('numbers', { user: 'anna', input_type: 'query', session_id: 's', provider: { sort: 'price' } });
    const user = expect.stringMatching(/^[0-9a-f]{64}$/) as string;
    expect(lastSent()).toEqual({ model: 'upstream-emb-numbers', input: 'words', user, input_type: 'query' });
  });

  it('goes without members that the provider refuses', async () => {
    expect((await embed('sized', { input_type: 'query' })).status).toBe(200);
    expect(lastSent()).not.toHaveProperty('input_type');
  });

  it('is charged once, to the digit, under our names', async () => {
    const answer = await embed('numbers');
    const id = generationIdOf(answer);
    expect(answer.body).toMatchObject({ object: 'list', id, model: 'emb/numbers' });
    expect(amountOf(answer.body.usage.cost)).toBe(amountOf(COST));
    const row = await settledGeneration(installation.database, id);
    expect(row).toMatchObject({ state: 'settled', outcome: 'completed', prompt_tokens: TOKENS, completion_tokens: 0 });
    expect(row.charges.map(amountOf)).toEqual([amountOf(COST)]);
  });

  it('is charged by an estimate when the provider does not count', async () => {
    const answer = await embed('quiet', { input: 'four' });
    expect(answer.body.usage).toMatchObject({ prompt_tokens: 2, total_tokens: 2 });
    expect(await settledGeneration(installation.database, generationIdOf(answer))).toMatchObject({
      provenance: 'estimated',
      prompt_tokens: 2,
    });
  });

  it('of many inputs may be longer than the context, which each of them has to itself', async () => {
    const input = Array.from({ length: 64 }, () => 'word '.repeat(2_000));
    const answer = await embed('numbers', { input });
    expect({ status: answer.status, count: answer.body.data?.length }).toEqual({ status: 200, count: 64 });
  });

  it('ends at the provider soon after its caller has left', async () => {
    const before = upstream.endings.length;
    const abort = new AbortController();
    const left = fetch(`${installation.baseUrl}/embeddings`, {
      method: 'POST',
      headers: { authorization: `Bearer ${installation.seed.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'emb/waits', input: 'words' }),
      signal: abort.signal,
    }).catch(() => 'left');
    await eventually('the provider is asked', 5_000, async () => upstream.endings.length > before || undefined);
    abort.abort();
    expect(await left).toBe('left');
    expect(await upstream.endings[before]).toBe(false);
  });
});

describe('an embedding of more than text', () => {
  const content = [
    { type: 'text', text: 'a cat' },
    { type: 'image_url', image_url: { url: PICTURE } },
  ];

  it('reaches a model that sees, with its parts in order, and costs what pictures cost', async () => {
    const answer = await embed('sees', { input: [{ content }, { content: content.slice(0, 1) }] });
    expect(answer.status).toBe(200);
    expect(lastSent()['input']).toEqual([{ content }, { content: content.slice(0, 1) }]);
    const cost = amountOf(PRICES.prompt) * 371n + amountOf(IMAGE_TOKEN) * 1_000n;
    expect(answer.body.usage.prompt_tokens_details).toEqual({ text_tokens: 371, image_tokens: 1_000 });
    expect(amountOf(answer.body.usage.cost)).toBe(cost);
    const row = await settledGeneration(installation.database, generationIdOf(answer));
    expect(row.charges.map(amountOf)).toEqual([cost]);
  });

  it('of Cohere counts its pictures too', async () => {
    const answer = await embed('cohere', { input: [{ content }] });
    expect(answer.body.usage).toMatchObject({
      prompt_tokens: 100,
      prompt_tokens_details: { text_tokens: 0, image_tokens: 100 },
    });
    expect(lastSent()['inputs']).toEqual([{ content }]);
  });

  it.each([
    ['a model that only reads', 'numbers', 'image_url', { url: PICTURE }],
    ['a model that does not hear', 'sees', 'input_audio', { data: 'AAAA', format: 'wav' }],
    ['a model that reads no files', 'sees', 'input_file', { data: 'AAAA' }],
  ])('never reaches %s', async (_case, model, type, media) => {
    const already = upstream.requests.length;
    const answer = await embed(model, { input: [{ content: [{ type, [type]: media }] }] });
    expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 404 });
    expect(upstream.requests).toHaveLength(already);
  });
});

describe('a protocol of its own', () => {
  it('of Cohere takes a list of any length in order, and is charged for all of it at once', async () => {
    const already = upstream.requests.length;
    const input = Array.from({ length: 300 }, (_, n) => String(n));
    const answer = await embed('cohere', { input, input_type: 'query' });
    expect(answer.body.data.map(({ embedding }) => (embedding as number[])[0])).toEqual(input.map(Number));
    expect(answer.body.usage).toMatchObject({ prompt_tokens: 300 });
    const sent = upstream.requests.slice(already);
    expect(sent.map(({ path }) => path)).toEqual(Array.from({ length: 4 }, () => '/cohere/v1/embed'));
    expect(sent.every(({ headers }) => headers.authorization === `Bearer ${PROVIDER_KEY}`)).toBe(true);
    const row = await settledGeneration(installation.database, generationIdOf(answer));
    expect(row.charges.map(amountOf)).toEqual([amountOf(PRICES.prompt) * 300n]);
  });

  it('of Mistral is sent what it knows', async () => {
    await embed('mistral', { user: 'anna', input_type: 'query', dimensions: 4 });
    expect(lastSent()).toEqual({ model: 'upstream-emb-mistral', input: 'words', output_dimension: 4 });
  });

  it.each(['cohere', 'mistral'])('of %s answers callers of every API', async (name) => {
    const model = `emb/${name}-chat`;
    const messages = [{ role: 'user', content: 'Say something please.' }];
    const ask = (path: string, body: object): Promise<ApiAnswer> => client.request('POST', path, { model, ...body });
    const answers = await Promise.all([
      ask('/chat/completions', { messages }),
      ask('/responses', { input: 'Say something please.' }),
      ask('/messages', { messages, max_tokens: 99 }),
    ]);
    for (const answer of answers) {
      expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
      expect(answer.text).toContain('Something.');
      const row = await settledGeneration(installation.database, generationIdOf(answer));
      expect(row).toMatchObject({ outcome: 'completed', prompt_tokens: TOKENS, completion_tokens: 2 });
      expect(row.charges.map(amountOf)).toEqual([amountOf(COST)]);
    }
  });

  it.each([
    ['cohere', { input: [1, 2] }],
    ['mistral', { input: [[1], [2]] }],
  ])('of %s refuses token ids, for which it has no form', async (model, members) => {
    const answer = await embed(model, members);
    expectRefusal({ ...answer, body: answer.text }, 400);
    expect(answer.text).toContain('input');
  });
});

describe('an answer that is none', () => {
  it.each(SPOILED)('of a provider that %s is a 502 and costs nothing', async (model) => {
    const answer = await embed(model, { input: model.includes('-n') ? 'one' : ['one', 'two'] });
    expectRefusal({ ...answer, body: answer.text }, 502, [PROVIDER_KEY]);
    const row = await settledGeneration(installation.database, generationIdOf(answer));
    expect(row).toMatchObject({ outcome: 'failed', charges: [] });
  });

  it.each([
    ['limited', 429],
    ['broken', 502],
    ['overloaded', 529],
    ['slow', 524],
  ])('of a provider that is %s is a %i and costs nothing', async (model, status) => {
    const answer = await embed(model);
    expectRefusal({ ...answer, body: answer.text }, status, [PROVIDER_KEY]);
    const row = await settledGeneration(installation.database, generationIdOf(answer));
    expect(row).toMatchObject({ outcome: 'failed', charges: [] });
  });
});

describe('a bad request for embeddings', () => {
  const image = (url: unknown): object => ({ input: [{ content: [{ type: 'image_url', image_url: { url } }] }] });
  const url = 'input[0].content[0].image_url.url';

  it.each<[string, object, string]>([
    ['E01 without input', { input: undefined }, 'input'],
    ['E01 of null', { input: null }, 'input'],
    ['E01 of an empty text', { input: '' }, 'input'],
    ['E01 of an empty list', { input: [] }, 'input'],
    ['E02 of an empty text in a list', { input: ['a', ''] }, 'input[1]'],
    ['E02 of null in a list', { input: [null] }, 'input[0]'],
    ['E02 of text and tokens', { input: ['a', 1] }, 'input[1]'],
    ['E02 of an empty list in a list', { input: [[]] }, 'input[0]'],
    ['E02 of three levels', { input: [[['a']]] }, 'input[0]'],
    ['E03 of a negative token', { input: [1, -1] }, 'input[1]'],
    ['E03 of half a token', { input: [[1.5]] }, 'input[0]'],
    ['E03 of a token that no vocabulary has', { input: [1e12] }, 'input[0]'],
    ['E03 of a token that is text', { input: [1, '1'] }, 'input[1]'],
    ['E04 of too many inputs', { input: Array.from({ length: 100_001 }, () => 'a') }, 'input'],
    ['E06 without a model', { model: undefined }, 'model'],
    ['E06 of a model that is a number', { model: 1 }, 'model'],
    ['E07 in no dimensions', { dimensions: 0 }, 'dimensions'],
    ['E07 in negative dimensions', { dimensions: -1 }, 'dimensions'],
    ['E07 in half a dimension', { dimensions: 1.5 }, 'dimensions'],
    ['E07 in dimensions that are text', { dimensions: '256' }, 'dimensions'],
    ['E07 in too many dimensions', { dimensions: 1e9 }, 'dimensions'],
    ['E07 in dimensions that the model does not offer', { model: 'emb/sized', dimensions: 5 }, 'dimensions'],
    ['E08 in a format nobody has', { encoding_format: 'hex' }, 'encoding_format'],
    ['E08 in a format of null', { encoding_format: null }, 'encoding_format'],
    ['E09 of a user with too long a name', { user: 'x'.repeat(257) }, 'user'],
    ['E10 of an input type that is a number', { input_type: 1 }, 'input_type'],
    ['E11 with a preference that is a text', { provider: { allow_fallbacks: 'yes' } }, 'provider'],
    ['E12 of a picture that is nowhere', image('cat.png'), url],
    ['E12 of a file of ours', image('file:///etc/passwd'), url],
    ['E12 of our metadata', image('http://169.254.169.254/latest'), url],
    ['E12 of a neighbour', image('https://[::ffff:10.0.0.1]/'), url],
    ['E12 of a link with a password', image('https://a:b@pictures.example/'), url],
    ['E12 of broken base64', image('data:image/png;base64,A'), url],
    ['E12 of a part of no type', { input: [{ content: [{ text: 'a' }] }] }, 'input[0].content[0].type'],
    ['E12 without parts', { input: [{ content: [] }] }, 'input[0].content'],
    ['as a stream', { stream: true }, 'stream'],
  ])('%s is refused with its member named', async (_case, members, member) => {
    const already = upstream.requests.length;
    const answer = await embed('numbers', members);
    expectRefusal({ ...answer, body: answer.text }, 400);
    expect((answer.body as unknown as { error: { message: string } }).error.message).toContain(member);
    expect(upstream.requests).toHaveLength(already);
  });

  it.each([
    ['E05 of one input beyond the context', { input: ['a', 'word '.repeat(150_000)] }, 'context_length_exceeded'],
    ['E06 of a model nobody has', { model: 'emb/nobody' }, 'invalid_request'],
    ['E06 of a model that only talks', { model: 'emb/cohere-chat' }, 'invalid_request'],
  ])('%s is refused before anybody is asked', async (_case, members, code) => {
    const already = upstream.requests.length;
    const answer = await embed('numbers', members);
    expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 400 });
    expect(answer.text).toContain(code);
    expect(upstream.requests).toHaveLength(already);
  });

  it('E13 of more base64 than anybody reads is refused as too large', async () => {
    const answer = await embed('sees', image(`data:image/png;base64,${'A'.repeat(33 * 1024 * 1024)}`));
    expectRefusal({ ...answer, body: answer.text }, 413);
  });
});

it('leaves the books balanced, with nothing held', async () => {
  await eventually('every call is settled', 5_000, async () => {
    const row = await installation.database.firstRow<{ open: number; held: string }>({
      sql: `SELECT (SELECT count(*)::integer FROM generations WHERE state = 'open') AS open,
                   (SELECT sum(held_usd)::text FROM ledger_accounts) AS held`,
      values: [],
    });
    return row!.open === 0 && Number(row!.held) === 0 ? true : undefined;
  });
  expect(await new LedgerRepository(installation.database).audit()).toEqual([]);
});
