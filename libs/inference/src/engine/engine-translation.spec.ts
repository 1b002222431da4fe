import { joinFrames } from '../model/answer-frame';
import type { ServerResponse } from 'node:http';
import { AppError } from '@libs/errors';
import { createParser } from 'eventsource-parser';
import { TRANSLATIONS } from '../dialects/dialect-pairs';
import type { StreamReader, Translation, UpstreamEvent } from '../dialects/translation';
import { InferenceEngine } from './engine';
import type { AnswerEvent } from '../model/canonical-answer';
import type { RoutedRequest, StreamResult } from './inference-call';
import { emptyUsage } from '../pricing/usage';
import { createProviderAdapters } from '../providers';
import type { ProviderAdapter } from '../providers/provider';
import type { UpstreamStream } from '../wire/upstream-stream';
import type { UpstreamCall, UpstreamResult } from '../wire/upstream-call';
import { upstreamError } from '../wire/upstream-error';
import { UpstreamHttp } from '../wire/upstream-http';
import type { Api } from '../catalogue/catalogue';
import { SharedCredentials } from '../routing/credential-source';
import { ProviderHealth } from '../routing/provider-health';
import { aCatalogue, aModel, anEndpoint, aProvider, FakeUpstream, textOf } from '../testing';

/** A protocol of our own, which speaks a dialect of our own in place of messages. */
class SpokenProvider implements ProviderAdapter {
  constructor(private readonly http: UpstreamHttp) {}

  async messages(call: UpstreamCall): Promise<UpstreamResult> {
    const { status, headers, body } = await this.http.request('/speak', [], call);
    if (status === 200) return { status, body };
    throw upstreamError(call.endpoint.provider, status, headers, body);
  }

  async messagesStream(call: UpstreamCall): Promise<UpstreamStream> {
    const opened = await this.http.stream('/speak', [], call);
    if ('read' in opened) return opened;
    throw upstreamError(call.endpoint.provider, opened.status, opened.headers, opened.body);
  }
}

const counted = (promptTokens: number, completionTokens: number) => ({
  ...emptyUsage('upstream'),
  promptTokens,
  completionTokens,
  totalTokens: promptTokens + completionTokens,
});

/** One text in, one text out: `say`, `count` and `end` are its whole vocabulary. */
class SpokenReader implements StreamReader {
  #isOpen = false;

  read({ name, data }: UpstreamEvent): AnswerEvent[] {
    if (name === 'hello') return [{ type: 'start', upstreamId: data, createdAt: null }];
    if (name === 'oops') throw new AppError('provider_overloaded', 'The provider is overloaded');
    if (name === 'count') {
      const [prompt = 0, completion = 0] = data.split(' ').map(Number);
      return [{ type: 'usage', usage: counted(prompt, completion) }];
    }
    if (name === 'end') return this.#end(data === 'broken' ? 'error' : 'stop', data);
    return [...this.#begin(), { type: 'text-delta', part: 0, text: data }];
  }

  end(): AnswerEvent[] {
    throw new AppError('provider_unavailable', 'The provider sent an answer that cannot be read');
  }

  #begin(): AnswerEvent[] {
    if (this.#isOpen) return [];
    this.#isOpen = true;
    return [{ type: 'part-start', part: 0, kind: 'text' }];
  }

  #end(finishReason: 'stop' | 'error', nativeFinishReason: string): AnswerEvent[] {
    const end: AnswerEvent[] = this.#isOpen ? [{ type: 'part-end', part: 0 }] : [];
    return [...end, { type: 'finish', finishReason, nativeFinishReason }];
  }
}

const spoken: Translation = {
  caller: TRANSLATIONS.get('chat')!.caller,
  upstream: {
    writeRequest: ({ messages, sampling }, { upstreamModel }, isStream, log) => {
      if (sampling.temperature !== undefined) log.drop('temperature');
      const heard = messages.flatMap(({ parts }) => parts.map((part) => (part.type === 'text' ? part.text : '')));
      return { voice: upstreamModel, heard, isStream };
    },
    readAnswer: (body) => {
      const { id, said, counts } = body as { id: string; said: string; counts?: [number, number] };
      const part = { type: 'text' as const, text: said };
      return {
        upstreamId: id,
        createdAt: null,
        choices: [{ parts: [part], finishReason: 'stop', nativeFinishReason: 'silence' }],
        usage: counts ? counted(...counts) : null,
      };
    },
    readStream: () => new SpokenReader(),
  },
};

const event = (name: string, data: string): string => `event: ${name}\ndata: ${data}\n\n`;
const HELLO = event('hello', 'up-7');

let first: FakeUpstream;
let second: FakeUpstream;
let http: UpstreamHttp;
let controller: AbortController;
let health: ProviderHealth;

/** The first upstream speaks our own dialect and is cheaper; the second speaks chat. */
function anEngineOfTwo(): InferenceEngine {
  const speaking = aProvider({ slug: 'speaking', baseUrl: first.baseUrl, apiKeyEnv: null, protocol: 'spoken' });
  const chatting = aProvider({ slug: 'chatting', baseUrl: second.baseUrl, apiKeyEnv: null });
  const dear = { prompt: 4_000_000_000_000n, completion: 8_000_000_000_000n };
  const model = aModel({
    endpoints: [
      anEndpoint({ provider: speaking, apis: ['messages'] }),
      anEndpoint({ provider: chatting, apis: ['chat'], pricing: dear }),
    ],
  });
  return new InferenceEngine({
    catalogue: () => aCatalogue(model),
    adapters: new Map([...createProviderAdapters(http), ['spoken', new SpokenProvider(http)]]),
    credentials: new SharedCredentials({}),
    health,
    clock: Date.now,
    dice: () => 0,
    translations: new Map<Api, Translation>([
      ['chat', TRANSLATIONS.get('chat')!],
      ['messages', spoken],
    ]),
  });
}

const aRequest = (members: object = {}, values: Partial<RoutedRequest> = {}): RoutedRequest => ({
  generationId: 'gen-1-abc',
  model: 'acme/large',
  body: Buffer.from(JSON.stringify({ model: 'acme/large', messages: [{ role: 'user', content: 'four' }], ...members })),
  signal: controller.signal,
  ...values,
});

async function readAll({ stream }: StreamResult) {
  const events: string[] = [];
  const parser = createParser({ onEvent: ({ data }) => events.push(data) });
  parser.feed(await textOf(stream));
  const chunks = events
    .filter((data) => data !== '[DONE]')
    .map((data) => JSON.parse(data) as { choices: { delta: { content?: string } }[] });
  return { events, chunks, text: chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('') };
}

beforeEach(async () => {
  controller = new AbortController();
  http = new UpstreamHttp();
  health = new ProviderHealth(Date.now);
  first = await FakeUpstream.start();
  second = await FakeUpstream.start();
});

afterEach(async () => {
  await Promise.all([first.close(), second.close()]);
  await http.close();
});

describe('an answer from an endpoint of another dialect', () => {
  it('is asked in the dialect of the endpoint and given in the dialect of the caller', async () => {
    first.answers(200, '{"id":"up-1","said":"five","counts":[10,5]}');
    const result = await anEngineOfTwo().answer('chat', aRequest());
    expect(first.requests).toMatchObject([{ path: '/v1/speak' }]);
    expect(JSON.parse(first.requests[0]!.body)).toEqual({ voice: 'acme-large-2026', heard: ['four'], isStream: false });
    expect(JSON.parse(result.body.toString())).toMatchObject({
      id: 'gen-1-abc',
      object: 'chat.completion',
      model: 'acme/large',
      provider: 'Speaking',
      choices: [{ index: 0, message: { role: 'assistant', content: 'five' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, cost: 0.00002 },
    });
    expect(result).toMatchObject({
      status: 200,
      upstreamId: 'up-1',
      finishReason: 'stop',
      nativeFinishReason: 'silence',
      cost: { totalCost: 20_000_000n },
      usage: { provenance: 'upstream' },
      losses: { dropped: [], approximated: [] },
    });
  });

  it('comes with the names of what was lost on the way', async () => {
    first.answers(200, '{"id":"up-1","said":"five"}');
    const { losses } = await anEngineOfTwo().answer('chat', aRequest({ temperature: 1, prediction: {}, plugins: [] }));
    expect(losses).toEqual({ dropped: ['prediction', 'temperature'], approximated: [] });
  });

  it('loses nothing where the bytes pass', async () => {
    first.answers(503, '');
    second.answers(200, '{"choices":[{"index":0,"message":{"content":"six"},"finish_reason":"stop"}]}');
    const result = await anEngineOfTwo().answer('chat', aRequest({ temperature: 1, prediction: {} }));
    expect(result).toMatchObject({ endpoint: { provider: { slug: 'chatting' } }, losses: { dropped: [] } });
    expect(JSON.parse(second.requests[0]!.body)).toMatchObject({ temperature: 1, prediction: {} });
  });

  it('is estimated where the upstream counts nothing', async () => {
    first.answers(200, `{"id":"up-1","said":"${'x'.repeat(40)}"}`);
    const { usage } = await anEngineOfTwo().answer('chat', aRequest());
    expect(usage).toMatchObject({ promptTokens: 6, completionTokens: 10, provenance: 'estimated' });
  });

  it('comes from the next endpoint when it is no JSON', async () => {
    first.answers(200, '<html>');
    second.answers(200, '{"choices":[{"index":0,"message":{"content":"six"},"finish_reason":"stop"}]}');
    expect((await anEngineOfTwo().answer('chat', aRequest())).endpoint.provider.slug).toBe('chatting');
  });

  it('is refused, and nobody called, when the request cannot be understood', async () => {
    const run = anEngineOfTwo().answer('chat', aRequest({ messages: [{ role: 'nobody' }] }));
    await expect(run).rejects.toMatchObject({ code: 'invalid_request' });
    expect([first.requests, second.requests]).toEqual([[], []]);
  });

  it('serves a line of a batch', async () => {
    first.answers(200, '{"id":"up-1","said":"five","counts":[10,5]}');
    const provider = aProvider({ baseUrl: first.baseUrl, apiKeyEnv: null, protocol: 'spoken' });
    const candidate = { model: aModel(), endpoint: anEndpoint({ provider, apis: ['messages'] }) };
    const result = await anEngineOfTwo().callEndpoint('chat', candidate, { ...aRequest(), priceList: 'batch' });
    expect(result.cost.totalCost).toBe(10_000_000n);
  });
});

describe('a stream from an endpoint of another dialect', () => {
  it('is written in the dialect of the caller and ends once', async () => {
    first.streams(HELLO, event('say', 'fi'), event('say', 'vé'), event('count', '10 5'), event('end', 'silence'));
    const result = await anEngineOfTwo().stream('chat', aRequest({ stream: true, temperature: 0 }));
    const { events, chunks, text } = await readAll(result);
    expect(text).toBe('fivé');
    expect(events.filter((data) => data === '[DONE]')).toEqual([events.at(-1)]);
    for (const one of chunks) expect(one).toMatchObject({ id: 'gen-1-abc', model: 'acme/large', provider: 'Speaking' });
    expect(chunks[0]).toMatchObject({ choices: [{ delta: { role: 'assistant' } }] });
    expect(chunks.at(-2)).toMatchObject({ choices: [{ finish_reason: 'stop', native_finish_reason: 'silence' }] });
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 10, completion_tokens: 5, cost: 0.00002 },
    });
    expect(await result.stream.outcome).toMatchObject({
      state: 'completed',
      upstreamId: 'up-7',
      usage: { promptTokens: 10, completionTokens: 5, provenance: 'upstream' },
      cost: { totalCost: 20_000_000n },
    });
    expect(result.losses).toEqual({ dropped: ['temperature'], approximated: [] });
    expect(JSON.parse(first.requests[0]!.body)).toMatchObject({ isStream: true });
  });

  it.each([
    ['an error behind its start and a count', [HELLO, event('count', '10 1'), event('oops', 'x')]],
    ['an end before its first word', [HELLO, event('count', '10 1')]],
    ['nothing at all', ['']],
    ['an answer given up before its first word', [HELLO, event('end', 'broken')]],
  ])('is not committed by %s: the next endpoint serves', async (_what, pieces) => {
    first.streams(...pieces);
    const done = 'data: {"choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
    second.streams(done);
    const result = await anEngineOfTwo().stream('chat', aRequest());
    expect(result.endpoint.provider.slug).toBe('chatting');
    expect((await readAll(result)).text).toBe('ok');
  });

  it.each<[string, string, (response: ServerResponse) => void]>([
    ['is cut', 'provider_unavailable', (response) => response.destroy()],
    ['just ends', 'provider_unavailable', (response) => response.end()],
    ['stalls', 'timeout', () => undefined],
    ['reports an error', 'provider_overloaded', (response) => response.write(event('oops', 'x'))],
    ['is given up', 'provider_unavailable', (response) => response.write(event('end', 'broken'))],
    ['sends an endless event', 'unprocessable', (response) => response.write('data: '.padEnd(9_000_000, 'x'))],
  ])('that %s ends with an error event and a bill for what was sent', async (_what, code, misbehave) => {
    let response: ServerResponse | undefined;
    first.behaviour = (answer) => {
      response = answer.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(HELLO + event('count', '10 1') + event('say', 'y'.repeat(80)));
    };
    const result = await anEngineOfTwo().stream('chat', aRequest({}, { timeouts: { idleMs: 150 } }));
    misbehave(response!);
    const { events, chunks, text } = await readAll(result);
    expect(text).toBe('y'.repeat(80));
    expect(events.filter((data) => data === '[DONE]')).toEqual([events.at(-1)]);
    expect(chunks.at(-1)).toMatchObject({
      id: 'gen-1-abc',
      error: { metadata: { error_type: code } },
      choices: [{ delta: { content: '' }, finish_reason: 'error' }],
      usage: { prompt_tokens: 10, completion_tokens: 39 },
    });
    expect(await result.stream.outcome).toMatchObject({
      state: 'failed',
      error: { code },
      usage: { promptTokens: 10, completionTokens: 39, provenance: 'partial' },
    });
    expect(second.requests).toHaveLength(0);
  });

  it.each(['by its signal', 'by ceasing to read', 'by cancelling'])(
    'ends the upstream within a second when the caller leaves %s',
    async (how) => {
      first.behaviour = (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(HELLO + event('say', 'z'.repeat(40)));
      };
      const { stream } = await anEngineOfTwo().stream('chat', aRequest());
      const startMs = performance.now();
      for await (const frames of stream) {
        expect(joinFrames(frames).length).toBeGreaterThan(40);
        if (how === 'by its signal') controller.abort();
        else if (how === 'by cancelling') stream.cancel();
        else break;
      }
      // A call that is left is billed as it was reserved, one that is cut off as ordinary text.
      const promptTokens = how === 'by its signal' ? 6 : 7;
      expect(await stream.outcome).toMatchObject({
        state: 'cancelled',
        error: null,
        usage: { promptTokens, completionTokens: 12, provenance: 'partial' },
      });
      expect(await first.endings[0]).toBe(false);
      expect(performance.now() - startMs).toBeLessThan(1_000);
    },
  );
});
