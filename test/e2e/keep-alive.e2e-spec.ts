import { FakeUpstream } from '@libs/inference/testing';
import { catalogueOf } from '../support/catalogue';
import { Installation } from '../support/installation';
import { COUNTED, FIRST_WORDS, scriptOf, type UpstreamDialect } from '../support/provider-scripts';
import { openStream, type OpenedStream } from './event-stream';
import { CANARY } from './refusals';
import { settledGeneration } from './stored-generation';
import { findProblems, readEvents } from './stream-grammar';

const PRICES = { prompt: '0.000000123', completion: '0.000000457' };
const COMMENT = ': SLUICE PROCESSING\n\n';
const messages = [{ role: 'user', content: 'Say something please.' }];
const DIALECTS: readonly UpstreamDialect[] = ['chat', 'responses', 'messages'];
const PATHS = { chat: '/chat/completions', responses: '/responses', messages: '/messages' };
const BODIES = { chat: { messages }, responses: { input: messages }, messages: { messages, max_tokens: 512 } };
const PAIRS = DIALECTS.flatMap((api) => DIALECTS.map((dialect) => [api, dialect] as const));

/** What the callers of a running gateway see while a provider says nothing. The provider waits for the test. */
let upstream: FakeUpstream;
let installation: Installation;
let speak = Promise.withResolvers<void>();

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.behaviour = (response, { path }) => {
    const [conduct, dialect] = path.slice(1).split('/') as [string, UpstreamDialect];
    const { announcement, words, moreWords, end } = scriptOf(dialect, CANARY).stream;
    void speak.promise.then(() => {
      if (conduct === 'fails') response.writeHead(503).end('{}');
      else {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end(announcement + words + moreWords + end);
      }
    });
  };
  const models = ['speaks', 'fails'].flatMap((conduct) =>
    DIALECTS.map((dialect) => ({
      slug: `${conduct}/${dialect}`,
      provider: `${conduct}-${dialect}`,
      baseUrl: `${upstream.origin}/${conduct}/${dialect}/v1`,
      apis: [dialect],
      pricing: PRICES,
      ...(dialect === 'messages' && { protocol: 'anthropic' }),
    })),
  );
  installation = await Installation.start({
    catalogue: catalogueOf(models),
    apps: ['auth', 'gateway'],
    // The second: how long a call is read on for its usage after its caller has left.
    environmentOf: { gateway: { STREAM_FIRST_COMMENT_MS: '200', LEFTOVER_READ_MS: '300' } },
  });
}, 240_000);

afterAll(async () => {
  await installation?.stop();
  await upstream?.close();
});

beforeEach(() => {
  speak = Promise.withResolvers();
});

const ask = (api: UpstreamDialect, model: string, more: object = {}): Promise<OpenedStream> =>
  openStream(installation.baseUrl, PATHS[api], installation.seed.apiKey, {
    model,
    stream: true,
    ...BODIES[api],
    ...more,
  });

/** What follows the comments. */
async function answerOf(stream: OpenedStream): Promise<string> {
  expect(stream.status).toBe(200);
  expect(stream.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  await stream.until(COMMENT);
  speak.resolve();
  const text = await stream.rest();
  expect(text.startsWith(COMMENT)).toBe(true);
  return text.replaceAll(COMMENT, '');
}

const rowOf = (stream: OpenedStream) =>
  settledGeneration(installation.database, stream.headers.get('x-generation-id')!);

describe('while a provider says nothing', () => {
  it.each(PAIRS)('a caller of %s reads comments, then the whole answer of a provider of %s', async (api, dialect) => {
    const stream = await ask(api, `speaks/${dialect}`);
    const text = await answerOf(stream);
    expect(text).toContain(FIRST_WORDS);
    expect(findProblems(api, readEvents(api, text))).toEqual([]);
    const row = await rowOf(stream);
    expect(row).toMatchObject({
      outcome: 'completed',
      provenance: 'upstream',
      prompt_tokens: COUNTED.prompt,
      completion_tokens: COUNTED.completion,
    });
    expect(row.charges).toHaveLength(1);
  });

  it.each(PAIRS)('a caller of %s reads comments, then the error of a provider of %s', async (api, dialect) => {
    const stream = await ask(api, `fails/${dialect}`);
    const events = readEvents(api, await answerOf(stream));
    const ends = {
      chat: ['error', '[DONE]'],
      responses: ['response.created', 'response.in_progress', 'response.failed', '[DONE]'],
      messages: ['error'],
    };
    expect(events.map(({ name }) => name)).toEqual(ends[api]);
    expect(JSON.stringify(events)).toContain('provider_overloaded');
    expect(await rowOf(stream)).toMatchObject({ outcome: 'failed', provider: null, charges: [] });
  });

  it.each(PAIRS)('a caller of %s is served by the next model, where one of %s fails', async (api, dialect) => {
    const more = api === 'messages' ? { fallbacks: [{ model: 'speaks/chat' }] } : { models: ['speaks/chat'] };
    const stream = await ask(api, `fails/${dialect}`, more);
    const text = await answerOf(stream);
    expect(text).toContain(FIRST_WORDS);
    expect(findProblems(api, readEvents(api, text))).toEqual([]);
    expect(await rowOf(stream)).toMatchObject({ outcome: 'completed', provider: 'speaks-chat' });
  });

  it.each(DIALECTS)('a caller of %s with plugins and server tools reads comments too', async (api) => {
    const more = { plugins: [{ id: 'context-compression' }], tools: [{ type: 'sluice:datetime' }] };
    const stream = await ask(api, 'speaks/chat', more);
    expect(await answerOf(stream)).toContain(FIRST_WORDS);
    expect(await rowOf(stream)).toMatchObject({ outcome: 'completed', provider: 'speaks-chat' });
  });

  it.each(DIALECTS)('a caller of %s who leaves ends the call, and pays for the prompt', async (api) => {
    const before = upstream.endings.length;
    const stream = await ask(api, 'speaks/chat');
    await stream.until(COMMENT);
    stream.leave();
    expect(await upstream.endings[before]).toBe(false);
    const row = await rowOf(stream);
    expect(row).toMatchObject({ outcome: 'cancelled', charges: [row.cost] });
    expect(Number(row.cost)).toBeGreaterThan(0);
  });
});
