import { joinFrames, type AnswerFrame } from '../model/answer-frame';
import { AppError } from '@libs/errors';
import type { AnswerPart } from '../model/canonical-answer';
import { emptyUsage } from '../pricing/usage';
import { aModel, anEndpoint, eventsOf } from '../testing';
import { wordsOfAnswer, wordsOfStream } from './answer-words';
import type { AnswerContext } from './dialect';
import { TRANSLATIONS } from './dialect-pairs';

const endpoint = anEndpoint();
const context: AnswerContext = {
  generationId: 'gen-1-abc',
  model: aModel({ endpoints: [endpoint] }),
  endpoint,
  priceList: 'standard',
  beganMs: 0,
  requestBody: Buffer.from('{"model":"acme/large","messages":[],"input":"x","max_tokens":99}'),
};
const call = { id: 'call_1', name: 'look_up', arguments: '{"city":"Paris"}' };
const parts: readonly AnswerPart[] = [
  { type: 'reasoning', text: 'Let me see.' },
  { type: 'text', text: 'I will look it up. 😀' },
  { type: 'tool-call', ...call },
];
const words = { text: 'I will look it up. 😀', reasoning: 'Let me see.', toolCalls: [call] };
const bill = { usage: emptyUsage('upstream'), cost: { totalCost: 0n, promptCost: 0n, completionCost: 0n } };

describe.each([...TRANSLATIONS])('the words of an answer of %s', (api, { caller }) => {
  const choice = { parts, finishReason: 'tool_calls' as const, nativeFinishReason: null };
  const answer = { upstreamId: 'up-1', createdAt: 1, choices: [choice], usage: bill.usage };
  const whole = Buffer.from(JSON.stringify(caller.writeAnswer(answer, bill, context)));
  const begun = (): { writer: ReturnType<typeof caller.writeStream>; frames: AnswerFrame[] } => {
    const writer = caller.writeStream(context);
    const events = eventsOf(parts, bill.usage, 5).filter(({ type }) => type !== 'finish');
    return { writer, frames: events.flatMap((event) => writer.write(event)) };
  };

  it('are what the model thought, said and called', () => {
    expect(wordsOfAnswer(api, whole, endpoint)).toEqual(words);
  });

  it('are the same when they were streamed', () => {
    const { writer, frames } = begun();
    const finish = writer.write({ type: 'finish', finishReason: 'tool_calls', nativeFinishReason: null });
    const stream = joinFrames([...frames, ...finish, ...writer.complete(bill)]);
    expect(wordsOfStream(api, stream, endpoint)).toEqual(words);
  });

  it('are those from before a stream was cut, wherever that was', () => {
    const bytes = joinFrames(begun().frames);
    let most = 0;
    for (let end = 0; end <= bytes.length; end += 7) {
      const { text } = wordsOfStream(api, bytes.subarray(0, end), endpoint);
      expect(words.text.startsWith(text ?? '')).toBe(true);
      expect((text ?? '').length).toBeGreaterThanOrEqual(most);
      most = (text ?? '').length;
    }
    expect(most).toBe(words.text.length);
  });

  it('are those from before a stream ended in an error', () => {
    const { writer, frames } = begun();
    const failure = writer.fail(new AppError('provider_unavailable', 'Cut'), bill);
    expect(wordsOfStream(api, joinFrames([...frames, ...failure]), endpoint)).toMatchObject({ text: words.text });
  });

  it('are none in what is no answer', () => {
    const none = { text: null, reasoning: null, toolCalls: [] };
    for (const text of ['', '{}', '{"error":{}}', '[1', 'data: {\n\n']) {
      expect(wordsOfAnswer(api, Buffer.from(text), endpoint)).toEqual(none);
      expect(wordsOfStream(api, Buffer.from(text), endpoint)).toEqual(none);
    }
  });
});

describe('a call of a custom tool', () => {
  const input = 'ls "a"\n😀';
  const called = [{ id: 'call_1', name: 'shell', arguments: JSON.stringify({ input }) }];

  it.each([
    ['chat', [{ type: 'custom', custom: { name: 'shell' } }]],
    ['responses', [{ type: 'custom', name: 'shell' }]],
  ] as const)('is among the words on %s, whole and streamed', (api, tools) => {
    const { caller } = TRANSLATIONS.get(api)!;
    const said: readonly AnswerPart[] = [{ type: 'tool-call', ...called[0]! }];
    const asked = { ...context, requestBody: Buffer.from(JSON.stringify({ model: 'acme/large', tools })) };
    const choice = { parts: said, finishReason: 'tool_calls' as const, nativeFinishReason: null };
    const answer = { upstreamId: 'up-1', createdAt: 1, choices: [choice], usage: bill.usage };
    const whole = Buffer.from(JSON.stringify(caller.writeAnswer(answer, bill, asked)));
    expect(whole.includes('custom')).toBe(true);
    expect(wordsOfAnswer(api, whole, endpoint).toolCalls).toEqual(called);
    const writer = caller.writeStream(asked);
    const frames = eventsOf(said, bill.usage, 5).flatMap((event) => writer.write(event));
    expect(wordsOfStream(api, joinFrames([...frames, ...writer.complete(bill)]), endpoint).toolCalls).toEqual(called);
  });

  const delta = (said: object): string => `data: ${JSON.stringify({ choices: [{ index: 0, delta: said }] })}\n\n`;
  const piece = (custom: object, more: object): string => delta({ tool_calls: [{ ...more, custom }] });
  const begun = (more: object): string => piece({ name: 'shell', input: '' }, { ...more, type: 'custom' });
  const ended = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\n\n' + 'data: [DONE]\n\n';
  const wordsIn = (...events: readonly string[]) =>
    wordsOfStream('chat', Buffer.from(events.join('') + ended), endpoint);
  const pieces = ['ls "', 'a"\n😀'];

  it('has the text of all pieces that a provider sends', () => {
    const sent = pieces.flatMap((text) => [0, 1].map((index) => piece({ input: text }, { index })));
    const { toolCalls } = wordsIn(begun({ index: 0, id: 'c_0' }), begun({ index: 1, id: 'c_1' }), ...sent);
    expect(toolCalls).toEqual(['c_0', 'c_1'].map((id) => ({ ...called[0], id })));
  });

  it('ends where the provider goes on with something else', () => {
    const sent = pieces.map((text) => piece({ input: text }, { index: 0 }));
    const { toolCalls, text } = wordsIn(begun({ index: 0, id: 'call_1' }), ...sent, delta({ content: 'Done.' }));
    expect(toolCalls).toEqual(called);
    expect(text).toBe('Done.');
  });

  it('is one call without a number and with an id in its first piece only', () => {
    const sent = pieces.map((text) => piece({ input: text }, {}));
    expect(wordsIn(begun({ id: 'call_1' }), ...sent).toolCalls).toEqual(called);
  });
});

describe(wordsOfAnswer.name, () => {
  it('finds no words in vectors', () => {
    expect(wordsOfAnswer('embeddings', Buffer.from('{"data":[]}'), endpoint).text).toBeNull();
  });
});
