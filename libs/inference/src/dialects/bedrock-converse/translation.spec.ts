import fc from 'fast-check';
import type { AnswerEvent, AnswerPart } from '../../model/canonical-answer';
import { LossLog } from '../../model/loss-report';
import type { ReasoningPart } from '../../model/conversation';
import { ReframedStream, serverSentEvent } from '../../providers/reframed-stream';
import { bedrockEvent } from '../../providers/testing/event-stream-encoder';
import { aProvider, anEndpoint, anyId, anyText, foldAnswer, pieces } from '../../testing';
import { EventSplitter } from '../event-splitter';
import { bedrockConverse } from '.';

const endpoint = anEndpoint({ upstreamModel: 'global.anthropic.claude-x-v1:0', contextLength: null });

const anyThought: fc.Arbitrary<ReasoningPart> = fc.oneof(
  fc
    .record({ text: anyText, signature: anyId })
    .map((proven) => ({ type: 'reasoning' as const, ...proven, format: 'anthropic-claude-v1' as const })),
  anyId.map((id) => ({
    type: 'reasoning' as const,
    encrypted: Buffer.from(id).toString('base64'),
    format: 'anthropic-claude-v1' as const,
  })),
);
const anyCall = fc
  .record({ id: anyId, input: fc.dictionary(anyId, fc.nat(), { noNullPrototype: true }) })
  .map(({ id, input }) => ({ type: 'tool-call' as const, id, name: 'look_up', arguments: JSON.stringify(input) }));
const anyWords = anyText.filter((text) => text.trim() !== '').map((text) => ({ type: 'text' as const, text }));

/** Thoughts, words and calls in any order. */
const anyParts: fc.Arbitrary<readonly AnswerPart[]> = fc.array(fc.oneof(anyThought, anyWords, anyCall), {
  minLength: 1,
  maxLength: 6,
});
const anyUsage = fc.record({
  inputTokens: fc.nat(5_000),
  outputTokens: fc.nat(5_000),
  cacheReadInputTokens: fc.nat(5_000),
  cacheWriteInputTokens: fc.nat(5_000),
});

/** The block of a part on the wire. */
function blockOf(part: AnswerPart): object {
  if (part.type === 'tool-call') {
    return { toolUse: { toolUseId: part.id, name: part.name, input: JSON.parse(part.arguments) as object } };
  }
  if (part.type !== 'reasoning') return { text: (part as { text: string }).text };
  const { text, signature, encrypted } = part;
  const content = encrypted === undefined ? { reasoningText: { text, signature } } : { redactedContent: encrypted };
  return { reasoningContent: content };
}

function deltasOf(part: AnswerPart, size: number): object[] {
  if (part.type === 'tool-call') return pieces(part.arguments, size).map((input) => ({ toolUse: { input } }));
  if (part.type !== 'reasoning') return pieces((part as { text: string }).text, size).map((text) => ({ text }));
  const { text, signature, encrypted } = part;
  if (encrypted !== undefined) return [{ reasoningContent: { redactedContent: encrypted } }];
  const deltas = [
    ...pieces(text ?? '', size).map((piece) => ({ text: piece })),
    ...pieces(signature ?? '', size).map((piece) => ({ signature: piece })),
  ];
  return deltas.map((reasoningContent) => ({ reasoningContent }));
}

/** The body of a stream on the wire. */
function streamOf(parts: readonly AnswerPart[], usage: object, size: number): Buffer {
  const blocks = parts.flatMap((part, contentBlockIndex) => {
    const { id: toolUseId, name } = part as { id?: string; name?: string };
    const start = { toolUse: { toolUseId, name } };
    return [
      ...(part.type === 'tool-call' ? [bedrockEvent('contentBlockStart', { contentBlockIndex, start })] : []),
      ...deltasOf(part, size).map((delta) => bedrockEvent('contentBlockDelta', { contentBlockIndex, delta })),
      bedrockEvent('contentBlockStop', { contentBlockIndex }),
    ];
  });
  const last = [bedrockEvent('messageStop', { stopReason: 'end_turn' }), bedrockEvent('metadata', { usage })];
  return Buffer.concat([bedrockEvent('messageStart', { role: 'assistant' }), ...blocks, ...last]);
}

async function readBack(body: Buffer, cuts: readonly number[]): Promise<AnswerEvent[]> {
  const offsets = [0, ...cuts.map((at) => at % body.length).sort((a, b) => a - b), body.length];
  const left = offsets.slice(1).map((end, i) => body.subarray(offsets[i], end));
  const upstream = {
    read: async () => left.shift() ?? null,
    leave: () => 0,
    cancel: () => undefined,
    discard: () => undefined,
  };
  const stream = new ReframedStream(upstream, aProvider(), ({ headers, payload }) =>
    serverSentEvent(headers.get(':event-type')!, payload),
  );
  const reader = bedrockConverse.readStream(endpoint);
  const events: AnswerEvent[] = [];
  const splitter = new EventSplitter(1_000_000, (data, name) =>
    events.push(...reader.read({ name, data: data.toString() })),
  );
  for (let chunk = await stream.read(); chunk !== null; chunk = await stream.read()) splitter.push(chunk);
  splitter.end();
  return [...events, ...reader.end()];
}

describe('bedrockConverse', () => {
  it('reads an answer and writes the same blocks into the next request', () => {
    fc.assert(
      fc.property(anyParts, anyUsage, (parts, usage) => {
        const content = parts.map(blockOf);
        const body = { output: { message: { role: 'assistant', content } }, stopReason: 'end_turn', usage };
        const { choices, usage: read } = bedrockConverse.readAnswer(body, endpoint);
        expect(choices).toEqual([{ parts, finishReason: 'stop', nativeFinishReason: 'end_turn' }]);
        expect(read).toMatchObject({
          promptTokens: usage.inputTokens + usage.cacheReadInputTokens + usage.cacheWriteInputTokens,
          completionTokens: usage.outputTokens,
          cachedTokens: usage.cacheReadInputTokens,
          cacheWriteTokens: usage.cacheWriteInputTokens,
        });
        const log = new LossLog();
        const said = { role: 'assistant' as const, parts: choices[0]!.parts as readonly ReasoningPart[] };
        const messages = [{ role: 'user' as const, parts: [{ type: 'text' as const, text: 'Hi' }] }, said];
        const next = bedrockConverse.writeRequest(
          { messages: [...messages, messages[0]!], tools: [], sampling: {}, stopSequences: [], unread: [] },
          endpoint,
          false,
          log,
        ) as { messages: { content: object[] }[] };
        expect(next.messages[1]!.content).toEqual(content);
        expect(log.report().dropped).toEqual([]);
      }),
    );
  });

  it('reads a stream as the whole answer, wherever the network cuts it', async () => {
    const cuts = fc.array(fc.nat(), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(anyParts, anyUsage, fc.integer({ min: 1, max: 3 }), cuts, async (parts, usage, size, at) => {
        const folded = foldAnswer(await readBack(streamOf(parts, usage, size), at));
        const content = parts.map(blockOf);
        const body = { output: { message: { content } }, stopReason: 'end_turn', usage };
        const whole = bedrockConverse.readAnswer(body, endpoint);
        expect(folded.parts).toEqual(whole.choices[0]!.parts);
        expect(folded.usage).toEqual(whole.usage);
        expect(folded).toMatchObject({ finishReason: 'stop', nativeFinishReason: 'end_turn' });
      }),
    );
  });

  it.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['tool_use', 'tool_calls'],
    ['guardrail_intervened', 'content_filter'],
    ['content_filtered', 'content_filter'],
    ['malformed_model_output', 'error'],
    ['malformed_tool_use', 'error'],
  ])('takes %s for %s', (stopReason, finishReason) => {
    const body = { output: { message: { content: [] } }, stopReason };
    expect(bedrockConverse.readAnswer(body, endpoint).choices[0]).toMatchObject({
      finishReason,
      nativeFinishReason: stopReason,
    });
  });

  it('reads citations, the stop sequence, the tier and what the cache keeps for an hour', () => {
    const citations = [
      { title: 'T', location: { web: { url: 'https://a.example' } }, sourceContent: [{ text: 'src' }] },
      { title: 'P', location: { documentPage: { documentIndex: 0 } } },
    ];
    const body = {
      output: {
        message: {
          content: [
            { citationsContent: { content: [{ text: 'So ' }, { text: 'it is' }], citations } },
            { toolUse: { toolUseId: 's', name: 'search', input: {}, type: 'server_tool_use' } },
            { toolResult: { toolUseId: 's', content: [] } },
          ],
        },
      },
      stopReason: 'stop_sequence',
      additionalModelResponseFields: { stop_sequence: 'END' },
      usage: {
        inputTokens: 1,
        outputTokens: 2,
        cacheWriteInputTokens: 9,
        cacheDetails: [
          { ttl: '1h', inputTokens: 4 },
          { ttl: '5m', inputTokens: 5 },
        ],
      },
      serviceTier: { type: 'priority' },
    };
    expect(bedrockConverse.readAnswer(body, endpoint)).toMatchObject({
      choices: [
        {
          parts: [
            {
              type: 'text',
              text: 'So it is',
              annotations: [
                {
                  type: 'url-citation',
                  url: 'https://a.example',
                  title: 'T',
                  startIndex: 0,
                  endIndex: 8,
                  content: 'src',
                },
              ],
            },
          ],
          stopSequence: 'END',
        },
      ],
      units: { cacheWrite1hTokens: 4 },
      serviceTier: 'priority',
    });
  });

  it.each([null, [], 'text', {}, { output: { message: {} } }])('calls %j no answer', (body) => {
    expect(() => bedrockConverse.readAnswer(body, endpoint)).toThrow(
      expect.objectContaining({ code: 'provider_unavailable' }) as Error,
    );
  });
});
