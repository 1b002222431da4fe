import type { AnswerEvent } from '../../model/canonical-answer';
import { anEndpoint, foldAnswer } from '../../testing';
import { ConverseStreamReader } from './stream-reader';

type Event = readonly [name: string, data: object];

const endpoint = anEndpoint({ upstreamModel: 'openai.gpt-9' });
const START: Event = ['messageStart', { role: 'assistant' }];
const STOP: Event = ['messageStop', { stopReason: 'end_turn' }];
const METADATA: Event = ['metadata', { usage: { inputTokens: 3, outputTokens: 2 }, serviceTier: { type: 'flex' } }];
const delta = (contentBlockIndex: number, member: object): Event => [
  'contentBlockDelta',
  { contentBlockIndex, delta: member },
];
const use = (contentBlockIndex: number, toolUse: object): Event => [
  'contentBlockStart',
  { contentBlockIndex, start: { toolUse } },
];
const end = (contentBlockIndex: number): Event => ['contentBlockStop', { contentBlockIndex }];

function read(...events: readonly Event[]): AnswerEvent[] {
  const reader = new ConverseStreamReader(endpoint);
  const answer = events.flatMap(([name, data]) => reader.read({ name, data: JSON.stringify(data) }));
  return [...answer, ...reader.end()];
}

describe(ConverseStreamReader.name, () => {
  it('tells the usage before the finish, which comes with the last event', () => {
    const events = read(START, delta(0, { text: 'Hi' }), end(0), STOP, METADATA);
    expect(events.slice(-2)).toMatchObject([
      { type: 'usage', usage: { promptTokens: 3, completionTokens: 2 } },
      { type: 'finish', finishReason: 'stop', nativeFinishReason: 'end_turn', serviceTier: 'flex' },
    ]);
  });

  it('finishes without a usage where the body ends before it', () => {
    expect(foldAnswer(read(START, delta(0, { text: 'Hi' }), STOP))).toMatchObject({
      parts: [{ type: 'text', text: 'Hi' }],
      usage: null,
      finishReason: 'stop',
    });
  });

  it('ends a block that the model does not end itself', () => {
    const { parts } = foldAnswer(
      read(delta(0, { text: 'a' }), delta(1, { text: 'b' }), use(2, { toolUseId: 'x', name: 'f' }), STOP, METADATA),
    );
    expect(parts).toEqual([
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
      { type: 'tool-call', id: 'x', name: 'f', arguments: '{}' },
    ]);
  });

  it("passes over Bedrock's own tools and over events it has never heard of", () => {
    const { parts } = foldAnswer(
      read(
        START,
        use(0, { toolUseId: 's', name: 'search', type: 'server_tool_use' }),
        delta(0, { toolUse: { input: '{}' } }),
        end(0),
        ['contentBlockStart', { contentBlockIndex: 1, start: { toolResult: { toolUseId: 's' } } }],
        delta(1, { toolResult: [{ text: 'found' }] }),
        ['somethingNew', { a: 1 }],
        delta(2, { text: 'Found.' }),
        STOP,
        METADATA,
      ),
    );
    expect(parts).toEqual([{ type: 'text', text: 'Found.' }]);
  });

  it('puts sealed thoughts that come in pieces together, as the bytes that they are', () => {
    const piece = (text: string) =>
      delta(0, { reasoningContent: { redactedContent: Buffer.from(text).toString('base64') } });
    expect(foldAnswer(read(START, piece('a'), piece('bc'), end(0), STOP)).parts).toEqual([
      { type: 'reasoning', encrypted: Buffer.from('abc').toString('base64'), format: 'bedrock-openai-responses-v1' },
    ]);
  });

  it('cites the whole text of the block', () => {
    const citation = { title: 'T', location: { web: { url: 'https://a.example' } } };
    const { parts } = foldAnswer(read(delta(0, { text: 'So' }), delta(0, { citation }), delta(0, { text: '!' }), STOP));
    expect(parts[0]).toMatchObject({
      text: 'So!',
      annotations: [{ url: 'https://a.example', startIndex: 0, endIndex: 3 }],
    });
  });

  it('says nothing after its end', () => {
    const reader = new ConverseStreamReader(endpoint);
    for (const [name, data] of [START, STOP, METADATA]) reader.read({ name, data: JSON.stringify(data) });
    expect(reader.read({ name: 'contentBlockDelta', data: '{}' })).toEqual([]);
    expect(reader.end()).toEqual([]);
  });

  it.each<[string, readonly Event[]]>([
    ['is cut', [START, delta(0, { text: 'a' })]],
    ['ends without a reason', [START, delta(0, { text: 'a' }), ['messageStop', {}], METADATA]],
    ['goes on with a use of a tool that has not started', [START, delta(0, { toolUse: { input: '{}' } })]],
    ['names no block', [START, ['contentBlockDelta', { delta: { text: 'a' } }]]],
  ])('refuses a stream that %s', (_what, events) => {
    expect(() => read(...events)).toThrow(expect.objectContaining({ code: 'provider_unavailable' }) as Error);
  });

  it.each(['{', '[]', 'null'])('refuses the event %s', (data) => {
    expect(() => new ConverseStreamReader(endpoint).read({ name: 'metadata', data })).toThrow(
      expect.objectContaining({ code: 'provider_unavailable' }) as Error,
    );
  });
});
