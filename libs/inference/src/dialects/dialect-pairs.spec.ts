import { parseJson } from '@libs/json';
import { joinFrames } from '../model/answer-frame';
import fc from 'fast-check';
import type { AnswerEvent, AnswerPart } from '../model/canonical-answer';
import type { CanonicalRequest } from '../model/canonical-request';
import { LossLog } from '../model/loss-report';
import type { UpstreamStream } from '../wire/upstream-stream';
import { aModel, anEndpoint, anyId, anyText, anyToolCall, anyUsage, eventsOf, foldAnswer, textOf } from '../testing';
import { TRANSLATIONS } from './dialect-pairs';
import type { AnswerContext } from './dialect';
import { EventSplitter } from './event-splitter';
import { translateAnswer } from './translated-answer';
import { TranslatedStream } from './translated-stream';
import type { Translation } from './translation';

const endpoint = anEndpoint({ contextLength: null });
const sent = (value: object): Record<string, unknown> =>
  parseJson(Buffer.from(JSON.stringify(value))) as Record<string, unknown>;

/** Some upstreams refuse texts of nothing but white space, so these are not sent to them. */
const anyWords = anyText.filter((text) => text.trim() !== '');

/** A request that every dialect can carry whole. */
const anyPlainRequest: fc.Arbitrary<CanonicalRequest> = fc
  .record({
    question: anyWords,
    calls: fc.uniqueArray(anyToolCall, { maxLength: 3, selector: ({ id }) => id }),
    results: fc.array(anyWords, { minLength: 3, maxLength: 3 }),
    answer: anyWords,
    maxOutputTokens: fc.integer({ min: 16, max: 4_000 }),
  })
  .map(({ question, calls, results, answer, maxOutputTokens }) => ({
    messages: [
      { role: 'user', parts: [{ type: 'text', text: question }] },
      ...(calls.length === 0
        ? []
        : [
            {
              role: 'assistant' as const,
              parts: calls.map((call) => ({ ...call, arguments: JSON.stringify({ a: 1 }) })),
            },
          ]),
      ...calls.map(({ id }, i) => ({
        role: 'tool' as const,
        parts: [{ type: 'tool-result' as const, callId: id, parts: [{ type: 'text' as const, text: results[i]! }] }],
      })),
      { role: 'assistant', parts: [{ type: 'text', text: answer }] },
      { role: 'user', parts: [{ type: 'text', text: question }] },
    ],
    tools: [{ name: 'look_up', description: 'Looks up.', parameters: { type: 'object', properties: {} } }],
    sampling: { temperature: 0.5 },
    maxOutputTokens,
    stopSequences: [],
    unread: [],
  }));

/** What was said and done in a request, without how each dialect cuts it into messages. */
function gist({ messages, tools, maxOutputTokens }: CanonicalRequest): object {
  const said = messages.flatMap(({ parts }) =>
    parts.map((part) => {
      if (part.type === 'text') return part.text;
      if (part.type === 'tool-call') return [part.id, part.name, JSON.parse(part.arguments) as unknown];
      if (part.type === 'tool-result') return [part.callId, part.parts.map((one) => one.type === 'text' && one.text)];
      return part.type;
    }),
  );
  return { said, tools: tools.map(({ name }) => name), maxOutputTokens };
}

/** An answer that every dialect can carry whole: a text, then calls. */
const anyPlainParts: fc.Arbitrary<readonly AnswerPart[]> = fc
  .tuple(anyText, fc.uniqueArray(anyId, { maxLength: 3 }), fc.nat(99))
  .map(([text, ids, number]) => [
    { type: 'text', text },
    ...ids.map((id) => ({ type: 'tool-call' as const, id, name: 'look_up', arguments: JSON.stringify({ number }) })),
  ]);

const wordsAndCalls = (parts: readonly AnswerPart[]): unknown[] =>
  parts.map((part) => {
    if (part.type === 'tool-call') return [part.id, part.name, JSON.parse(part.arguments) as unknown];
    return part.type === 'text' ? part.text : part.type;
  });

const finishOf = (parts: readonly AnswerPart[]): 'stop' | 'tool_calls' =>
  parts.some(({ type }) => type === 'tool-call') ? 'tool_calls' : 'stop';

/** The body of a stream in a dialect. */
function streamOf({ caller }: Translation, events: readonly AnswerEvent[], context: AnswerContext): Buffer {
  const writer = caller.writeStream(context);
  const usage = events.flatMap((event) => (event.type === 'usage' ? [event.usage] : [])).at(-1)!;
  const cost = { totalCost: 0n, promptCost: 0n, completionCost: 0n };
  return joinFrames([...events.flatMap((event) => writer.write(event)), ...writer.complete({ usage, cost })]);
}

function readEvents({ upstream }: Translation, body: Buffer): AnswerEvent[] {
  const reader = upstream.readStream(endpoint);
  const events: AnswerEvent[] = [];
  const splitter = new EventSplitter(1_000_000, (data, name) =>
    events.push(...reader.read({ name, data: data.toString() })),
  );
  splitter.push(body);
  splitter.end();
  return [...events, ...reader.end()];
}

function bodyOf(body: Buffer, cuts: readonly number[]): UpstreamStream {
  const offsets = [0, ...cuts.map((at) => at % body.length).sort((a, b) => a - b), body.length];
  const left = offsets.slice(1).map((end, i) => body.subarray(offsets[i], end));
  return { read: async () => left.shift() ?? null, leave: () => 0, cancel: () => undefined, discard: () => undefined };
}

const pairs = [...TRANSLATIONS.keys()].flatMap((callerApi) =>
  [...TRANSLATIONS.keys()].map((upstreamApi) => [callerApi, upstreamApi] as const),
);

describe.each(pairs)('a caller of %s and an upstream of %s', (callerApi, upstreamApi) => {
  const near = TRANSLATIONS.get(callerApi)!;
  const far = TRANSLATIONS.get(upstreamApi)!;
  /** The caller's own request, which some answers repeat parts of. */
  const requestBody = Buffer.from(JSON.stringify({ model: 'acme/large', messages: [], input: 'x', max_tokens: 99 }));
  const context: AnswerContext = {
    generationId: 'gen-1-abc',
    model: aModel({ endpoints: [endpoint] }),
    endpoint,
    priceList: 'standard',
    beganMs: 0,
    requestBody,
  };

  it('mean the same request', () => {
    fc.assert(
      fc.property(anyPlainRequest, fc.boolean(), (request, isStream) => {
        const asked = near.caller.readRequest(
          sent(near.upstream.writeRequest(request, endpoint, isStream, new LossLog())),
        );
        const log = new LossLog();
        const passed = far.caller.readRequest(sent(far.upstream.writeRequest(asked, endpoint, isStream, log)));
        expect(gist(passed)).toEqual(gist(request));
        expect(log.report()).toEqual({ dropped: [], approximated: [] });
      }),
    );
  });

  it('mean the same answer', () => {
    fc.assert(
      fc.property(anyPlainParts, anyUsage, (parts, usage) => {
        const finishReason = finishOf(parts);
        const answer = {
          upstreamId: 'up-1',
          createdAt: 1_763_715_601,
          choices: [{ parts, finishReason, nativeFinishReason: finishReason }],
          usage: { ...usage, audioPromptTokens: 0, audioCompletionTokens: 0 },
        };
        const cost = { totalCost: 0n, promptCost: 0n, completionCost: 0n };
        const body = Buffer.from(JSON.stringify(far.caller.writeAnswer(answer, { usage, cost }, context)));
        const translated = translateAnswer(body, context, { caller: near.caller, upstream: far.upstream });
        const read = near.upstream.readAnswer(parseJson(translated.body), endpoint);
        expect(wordsAndCalls(read.choices[0]!.parts)).toEqual(wordsAndCalls(parts));
        expect(read.choices[0]!.finishReason).toBe(finishReason);
        expect(translated).toMatchObject({ finishReason, upstreamId: 'gen-1-abc' });
        const { promptTokens, completionTokens } = usage;
        expect(translated.usage).toMatchObject({ promptTokens, completionTokens, provenance: 'upstream' });
        expect(read.usage).toMatchObject({ promptTokens, completionTokens });
      }),
    );
  });

  it('mean the same stream, wherever the network cuts it', async () => {
    const cuts = fc.array(fc.nat(), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(
        anyPlainParts,
        anyUsage,
        fc.integer({ min: 1, max: 3 }),
        cuts,
        async (parts, usage, size, at) => {
          const finishReason = finishOf(parts);
          const events = eventsOf(parts, usage, size).map((event) =>
            event.type === 'finish' ? { ...event, finishReason, nativeFinishReason: finishReason } : event,
          );
          const upstream = bodyOf(streamOf(far, events, context), at);
          const reader = far.upstream.readStream(endpoint);
          const stream = await TranslatedStream.open(upstream, context, {
            reader,
            writer: near.caller.writeStream(context),
          });
          const read = foldAnswer(readEvents(near, Buffer.from(await textOf(stream))));
          expect(wordsAndCalls(read.parts)).toEqual(wordsAndCalls(parts));
          expect(read.finishReason).toBe(finishReason);
          const { promptTokens, completionTokens } = usage;
          expect(await stream.outcome).toMatchObject({
            state: 'completed',
            finishReason,
            usage: { promptTokens, completionTokens, provenance: 'upstream' },
          });
          expect(read.usage).toMatchObject({ promptTokens, completionTokens });
        },
      ),
    );
  });
});
