import { InferenceEngine } from './engine';
import { AnswerFold } from '../model/answer-fold';
import type { CanonicalRequest } from '../model/canonical-request';
import { turnBody } from '../model/turn-body';
import type { TurnRequest, TurnResult } from './turn-request';
import type { Api } from '../catalogue/catalogue';
import { aModel, anEndpoint, anEngine, aProvider, FakeUpstream } from '../testing';
import type { UpstreamHttp } from '../wire/upstream-http';

const CONVERSATION: CanonicalRequest = {
  messages: [
    { role: 'user', parts: [{ type: 'text', text: 'What time is it?' }] },
    { role: 'assistant', parts: [{ type: 'tool-call', id: 'call_1', name: 'clock', arguments: '{}' }] },
    { role: 'tool', parts: [{ type: 'tool-result', callId: 'call_1', parts: [{ type: 'text', text: 'Noon.' }] }] },
  ],
  tools: [{ name: 'clock', parameters: { type: 'object' } }],
  sampling: {},
  stopSequences: [],
  unread: [],
};

const event = (payload: object, name?: string): string =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(payload)}\n\n`;
const chunk = (members: object): string =>
  event({ id: 'up-1', object: 'chat.completion.chunk', created: 7, ...members });
const delta = (said: object, finish: string | null = null) =>
  chunk({ choices: [{ index: 0, delta: said, finish_reason: finish }] });
const CHAT_USAGE = { prompt_tokens: 11, completion_tokens: 3, total_tokens: 14 };
const MESSAGE = { id: 'up-1', type: 'message', role: 'assistant', model: 'm', stop_sequence: null };
const ITEM = {
  id: 'i',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'Noon.', annotations: [] }],
};
const RESPONSE = {
  id: 'up-1',
  object: 'response',
  status: 'completed',
  output: [ITEM],
  usage: { input_tokens: 11, output_tokens: 3, total_tokens: 14 },
};

/** The same answer of each kind of upstream: whole, and as the pieces of a stream. */
const ANSWERS: Readonly<Record<'chat' | 'responses' | 'messages', { whole: object; pieces: readonly string[] }>> = {
  chat: {
    whole: {
      id: 'up-1',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Noon.' }, finish_reason: 'stop' }],
      usage: CHAT_USAGE,
    },
    pieces: [
      delta({ content: 'No' }),
      delta({ content: 'on.' }),
      delta({}, 'stop'),
      chunk({ choices: [], usage: CHAT_USAGE }),
      'data: [DONE]\n\n',
    ],
  },
  responses: {
    whole: RESPONSE,
    pieces: [
      event({ type: 'response.created', response: { ...RESPONSE, status: 'in_progress', output: [] } }),
      event({ type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'Noon.' }),
      event({ type: 'response.completed', response: RESPONSE }),
    ],
  },
  messages: {
    whole: {
      ...MESSAGE,
      content: [{ type: 'text', text: 'Noon.' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 11, output_tokens: 3 },
    },
    pieces: [
      event(
        {
          type: 'message_start',
          message: { ...MESSAGE, content: [], stop_reason: null, usage: { input_tokens: 11, output_tokens: 1 } },
        },
        'message_start',
      ),
      event(
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        'content_block_start',
      ),
      event(
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Noon.' } },
        'content_block_delta',
      ),
      event({ type: 'content_block_stop', index: 0 }, 'content_block_stop'),
      event(
        { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 3 } },
        'message_delta',
      ),
      event({ type: 'message_stop' }, 'message_stop'),
    ],
  },
};

let upstream: FakeUpstream;
let http: UpstreamHttp;

beforeEach(async () => {
  upstream = await FakeUpstream.start();
});

afterEach(async () => {
  await http.close();
  await upstream.close();
});

function engineFor(upstreamApi: Api): InferenceEngine {
  const protocol = upstreamApi === 'messages' ? 'anthropic' : 'openai';
  const provider = aProvider({ baseUrl: upstream.baseUrl, protocol });
  const made = anEngine([aModel({ endpoints: [anEndpoint({ provider, apis: [upstreamApi] })] })]);
  http = made.http;
  return made.engine;
}

const turnOf = (values: Partial<TurnRequest> = {}): TurnRequest => ({
  generationId: 'gen-1-abc',
  model: 'acme/large',
  conversation: CONVERSATION,
  body: turnBody(CONVERSATION),
  signal: new AbortController().signal,
  ...values,
});

async function readTurn({ turn }: TurnResult) {
  const fold = new AnswerFold();
  const types: string[] = [];
  for await (const events of turn) {
    for (const event of events) fold.add(event);
    types.push(...events.map(({ type }) => type));
  }
  return { parts: fold.parts, types, outcome: await turn.outcome };
}

describe(`a turn of ${InferenceEngine.name}`, () => {
  describe.each(['chat', 'responses', 'messages'] as const)('asked for by a caller of %s', (callerApi) => {
    it.each(['chat', 'responses', 'messages'] as const)(
      'is answered by an upstream of %s, whole and streamed alike',
      async (upstreamApi) => {
        const { whole, pieces } = ANSWERS[upstreamApi];
        const engine = engineFor(upstreamApi);
        upstream.answers(200, JSON.stringify(whole));
        const answered = await readTurn(await engine.converse(callerApi, turnOf(), false));
        upstream.streams(...pieces);
        const streamed = await readTurn(await engine.converse(callerApi, turnOf(), true));
        for (const { parts, types, outcome } of [answered, streamed]) {
          expect(parts).toEqual([{ type: 'text', text: 'Noon.' }]);
          expect([types[0], types.at(-1)]).toEqual(['start', 'finish']);
          expect(outcome).toMatchObject({ state: 'completed', finishReason: 'stop', error: null, upstreamId: 'up-1' });
          expect(outcome.usage).toMatchObject({ promptTokens: 11, completionTokens: 3, provenance: 'upstream' });
          expect(outcome.cost.totalCost).toBe(17_000_000n);
        }
        expect(upstream.requests.map(({ body }) => (JSON.parse(body) as { stream?: boolean }).stream ?? false)).toEqual(
          [false, true],
        );
        expect(upstream.requests[0]!.body).toContain('What time is it?');
      },
    );
  });

  it('is estimated by its conversation where the upstream counts nothing', async () => {
    const engine = engineFor('chat');
    upstream.answers(200, JSON.stringify({ ...ANSWERS.chat.whole, usage: undefined }));
    const { outcome } = await readTurn(await engine.converse('responses', turnOf(), false));
    expect(outcome.usage).toMatchObject({ provenance: 'estimated' });
    expect(outcome.usage.promptTokens).toBeGreaterThan(10);
  });

  it('is told as broken when the stream is cut, with a part of the bill', async () => {
    const engine = engineFor('chat');
    upstream.streams(delta({ content: 'No' }));
    const { outcome, types } = await readTurn(await engine.converse('chat', turnOf(), true));
    expect(outcome).toMatchObject({
      state: 'failed',
      error: { code: 'provider_unavailable' },
      usage: { provenance: 'partial' },
    });
    expect(types).not.toContain('finish');
  });

  it('ends with its cancellation', async () => {
    const engine = engineFor('chat');
    upstream.behaviour = (response) => void response.writeHead(200).write(delta({ content: 'No' }));
    const { turn } = await engine.converse('chat', turnOf(), true);
    for await (const events of turn) if (events.some(({ type }) => type === 'text-delta')) turn.cancel();
    expect(await turn.outcome).toMatchObject({ state: 'cancelled', error: null, usage: { provenance: 'partial' } });
    expect(await upstream.endings[0]).toBe(false);
  });

  it.each([false, true])('is no turn when the model gave it up (streamed: %s)', async (isStream) => {
    const engine = engineFor('chat');
    const broken = {
      id: 'x',
      choices: [{ index: 0, message: { role: 'assistant', content: null }, finish_reason: 'error' }],
    };
    if (isStream) upstream.streams(delta({}, 'error'), 'data: [DONE]\n\n');
    else upstream.answers(200, JSON.stringify(broken));
    await expect(engine.converse('chat', turnOf(), isStream)).rejects.toMatchObject({ code: 'provider_unavailable' });
  });
});
