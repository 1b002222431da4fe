import { APIS } from '../apis/apis';
import type { StreamableApi } from '../dialects/dialect-pairs';
import { Cancellation } from '../model/cancellation';
import { LEFTOVER_BOUNDS, LeftoverReads } from '../model/leftover-reads';
import { leftCallOf } from './left-call';
import type { RoutedRequest } from './inference-call';
import { aModel, anEndpoint, anEngine, aProvider, FakeUpstream, textOf } from '../testing';

const APIS_OF_CALLERS: readonly StreamableApi[] = ['chat', 'responses', 'messages'];
const PAIRS = APIS_OF_CALLERS.flatMap((caller) => APIS_OF_CALLERS.map((spoken) => [caller, spoken] as const));
/** Longer than any event that is read. */
const LONG = 'x'.repeat(8 * 1024 * 1024);
const MOST_TOKENS = 250;

const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;
const chunk = (content: string): string =>
  event({ id: 'c', object: 'chat.completion.chunk', created: 1, choices: [{ index: 0, delta: { content } }] });
const response = (instructions: string): object => ({ id: 'r', object: 'response', output: [], instructions });
const part = { item_id: 'm', output_index: 0, content_index: 0 };
const item = { type: 'message', id: 'm', role: 'assistant', content: [] };
const message = { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [] };

/** Some words in each dialect, and then an event that is too long. */
const WORDS: Readonly<Record<StreamableApi, string>> = {
  chat: chunk('some words'),
  responses:
    event({ type: 'response.created', sequence_number: 0, response: response('') }) +
    event({ type: 'response.output_item.added', sequence_number: 1, output_index: 0, item }) +
    event({ type: 'response.output_text.delta', sequence_number: 2, ...part, delta: 'some words' }),
  messages:
    event({ type: 'message_start', message: { ...message, usage: { input_tokens: 4, output_tokens: 1 } } }) +
    event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }) +
    event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'some words' } }),
};
const LONG_EVENTS: Readonly<Record<StreamableApi, string>> = {
  chat: chunk(LONG),
  responses: event({ type: 'response.created', sequence_number: 0, response: response(LONG) }),
  messages: event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: LONG } }),
};

describe('a stream with an event that is longer than can be read', () => {
  let upstream: FakeUpstream;
  let close: () => Promise<void>;

  beforeEach(async () => {
    upstream = await FakeUpstream.start();
  });

  afterEach(async () => {
    await close();
    await upstream.close();
  });

  /** Two endpoints that speak `api`, and a request of `caller`. */
  function setUp(caller: StreamableApi, api: StreamableApi, events: string) {
    upstream.behaviour = (sent) => sent.writeHead(200, { 'content-type': 'text/event-stream' }).end(events);
    const pricing = { prompt: 0n, completion: 1_000_000_000_000n };
    const endpoints = ['one', 'two'].map((slug) => {
      const protocol = api === 'messages' ? 'anthropic' : 'openai';
      const provider = aProvider({ slug, baseUrl: upstream.baseUrl, apiKeyEnv: null, protocol });
      return anEndpoint({ provider, apis: [api], pricing });
    });
    const { engine, http } = anEngine([aModel({ endpoints })]);
    close = () => http.close();
    const cap = caller === 'responses' ? { max_output_tokens: MOST_TOKENS } : { max_tokens: MOST_TOKENS };
    const said = caller === 'responses' ? { input: 'Hi' } : { messages: [{ role: 'user', content: 'Hi' }] };
    const body = { model: 'acme/large', stream: true, ...said, ...cap };
    const request: RoutedRequest = {
      generationId: 'gen-1-abc',
      model: 'acme/large',
      body: Buffer.from(JSON.stringify(body)),
      signal: new AbortController().signal,
      expected: () => APIS[caller].outputOf(body),
    };
    return { engine, request };
  }

  it.each(PAIRS)('is paid for in full, and asked of no other endpoint: %s of %s', async (caller, api) => {
    const { engine, request } = setUp(caller, api, LONG_EVENTS[api]);
    const thrown: unknown = await engine.stream(caller, request).catch((error: unknown) => error);
    expect(thrown).toMatchObject({ code: 'unprocessable', retryable: false });
    expect(leftCallOf(thrown)?.usage).toMatchObject({ completionTokens: MOST_TOKENS });
    expect(upstream.requests).toHaveLength(1);
  });

  it.each(PAIRS)('is paid for in full where it has begun: %s of %s', async (caller, api) => {
    const { engine, request } = setUp(caller, api, WORDS[api] + LONG_EVENTS[api]);
    const { stream } = await engine.stream(caller, request);
    expect(await textOf(stream)).toContain('8 MiB');
    const { state, error, usage } = await stream.outcome;
    expect({ state, code: error?.code }).toEqual({ state: 'failed', code: 'unprocessable' });
    expect(usage).toMatchObject({ completionTokens: MOST_TOKENS, provenance: 'partial' });
  });

  it('is paid for in full where its caller has disconnected', async () => {
    const reads = new LeftoverReads({ ...LEFTOVER_BOUNDS, mostBytes: 64 * 1024 * 1024 });
    const signal = new Cancellation(reads.termsFor('acme'));
    const { engine, request } = setUp('chat', 'chat', WORDS.chat + LONG_EVENTS.chat);
    const { stream } = await engine.stream('chat', { ...request, signal });
    signal.leave();
    stream.cancel();
    expect(await stream.outcome).toMatchObject({ state: 'cancelled', usage: { completionTokens: MOST_TOKENS } });
  });
});
