import type { UpstreamStream } from '../wire/upstream-stream';
import { aModel, anAnswerContext, anEndpoint, textOf } from '../testing';
import { bedrockConverse } from './bedrock-converse';
import { TRANSLATIONS, type StreamableApi } from './dialect-pairs';
import { dialectOf } from '.';
import { googleGenerateContent } from './google-generate-content';
import { TranslatedStream } from './translated-stream';
import type { StreamReader, UpstreamTranslation } from './translation';

const APIS: readonly StreamableApi[] = ['chat', 'responses', 'messages'];
/** About 300 tokens. */
const LONG = 'The river carries leaves to the sea. '.repeat(40);
const LEAST = 280;

const endpoint = anEndpoint({ contextLength: 1_000_000 });
const context = anAnswerContext({
  model: aModel({ contextLength: 1_000_000, endpoints: [endpoint] }),
  endpoint,
  requestBody: Buffer.from('{"model":"m","messages":[{"role":"user","content":"hi"}],"input":"hi"}'),
});

type Event = { readonly name?: string; readonly data: object };

/** A stream whose usage of so many output tokens comes between a word and `rest`. */
type Upstream = (outputTokens: number, rest: string) => readonly Event[];

const piece = (text: string | null, members: object = {}): Event => ({
  data: {
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta: text === null ? {} : { content: text }, finish_reason: null }],
    ...members,
  },
});
const ended: Event = {
  data: { id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
};
const chat: Upstream = (output, rest) => [
  piece('Hi', { usage: { prompt_tokens: 10, completion_tokens: output, total_tokens: 10 + output } }),
  ...(rest === '' ? [] : [piece(rest)]),
  ended,
];

const written = (text: string): Event => ({
  data: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
});
const messages: Upstream = (output, rest) => [
  { data: { type: 'message_start', message: { id: 'm', type: 'message', usage: { input_tokens: 10 } } } },
  { data: { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } } },
  written('Hi'),
  { data: { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: output } } },
  ...(rest === '' ? [] : [written(rest)]),
  { data: { type: 'content_block_stop', index: 0 } },
  { data: { type: 'message_stop' } },
];

const candidate = (text: string, members: object = {}): Event => ({
  data: { responseId: 'g', candidates: [{ content: { parts: [{ text }] }, finishReason: 'STOP' }], ...members },
});
const gemini: Upstream = (output, rest) => [
  candidate('Hi', { usageMetadata: { promptTokenCount: 10, candidatesTokenCount: output } }),
  ...(rest === '' ? [] : [candidate(rest)]),
];

const block = (text: string): Event => ({
  name: 'contentBlockDelta',
  data: { contentBlockIndex: 0, delta: { text } },
});
const bedrock: Upstream = (output, rest) => [
  { name: 'messageStart', data: { role: 'assistant' } },
  block('Hi'),
  { name: 'metadata', data: { usage: { inputTokens: 10, outputTokens: output } } },
  ...(rest === '' ? [] : [block(rest)]),
  { name: 'messageStop', data: { stopReason: 'end_turn' } },
];

const UPSTREAMS: readonly (readonly [string, StreamableApi | UpstreamTranslation, Upstream])[] = [
  ['chat', 'chat', chat],
  ['messages', 'messages', messages],
  ['gemini', googleGenerateContent, gemini],
  ['bedrock', bedrockConverse, bedrock],
];
const WAYS = UPSTREAMS.flatMap(([name, upstream, events]) =>
  APIS.map((caller) => [caller, name, upstream, events] as const),
);

function sent(events: readonly Event[]): UpstreamStream {
  const text = ({ name, data }: Event): string =>
    `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
  const left = events.map((event) => Buffer.from(text(event)));
  return { read: async () => left.shift() ?? null, leave: () => 0, cancel: () => undefined, discard: () => undefined };
}

function readerOf(upstream: StreamableApi | UpstreamTranslation): StreamReader {
  const translation = typeof upstream === 'string' ? TRANSLATIONS.get(upstream)!.upstream : upstream;
  return translation.readStream(endpoint);
}

async function answered(
  caller: StreamableApi,
  upstream: StreamableApi | UpstreamTranslation,
  events: readonly Event[],
) {
  const stream =
    caller === upstream
      ? await dialectOf(caller).openStream!(sent(events), context)
      : await TranslatedStream.open(sent(events), context, {
          reader: readerOf(upstream),
          writer: TRANSLATIONS.get(caller)!.caller.writeStream(context),
        });
  const text = await textOf(stream);
  return { text, ...(await stream.outcome) };
}

/** The last count of output tokens that the caller is sent. */
const shownTokens = (text: string): number =>
  Number([...text.matchAll(/"(?:completion|output)_tokens":(\d+)/g)].at(-1)?.[1]);

describe('output after the last usage of a stream', () => {
  it.each(WAYS)('is charged at least as it shows: %s at %s', async (caller, _name, upstream, events) => {
    const { usage, text, state } = await answered(caller, upstream, events(1, LONG));
    expect(state).toBe('completed');
    expect(usage.completionTokens).toBeGreaterThan(LEAST);
    expect(usage.completionTokens).toBeLessThan(LEAST * 1.5);
    expect(usage).toMatchObject({ promptTokens: 10, provenance: 'estimated' });
    expect(shownTokens(text)).toBe(usage.completionTokens);
  });

  it.each(WAYS)('adds nothing to a usage that covers it: %s at %s', async (caller, _name, upstream, events) => {
    const { usage } = await answered(caller, upstream, events(9_000, LONG));
    expect(usage).toMatchObject({ promptTokens: 10, completionTokens: 9_000, provenance: 'upstream' });
  });

  it.each(WAYS)('does not change a usage after all output: %s at %s', async (caller, _name, upstream, events) => {
    const { usage } = await answered(caller, upstream, events(1, ''));
    expect(usage).toMatchObject({ completionTokens: 1, provenance: 'upstream' });
  });

  it.each(APIS)('is charged where a message is cut after its usage: %s', async (caller) => {
    const { usage } = await answered(caller, 'messages', [
      ...messages(1, LONG).slice(0, -2),
      { data: { type: 'error', error: { type: 'api_error', message: 'broke' } } },
    ]);
    expect(usage.completionTokens).toBeGreaterThan(LEAST);
    expect(usage.provenance).toBe('partial');
  });

  it.each(APIS)('is not what a translation held back until the end: %s', async (caller) => {
    const call = (index: number, text: string): object => ({
      index,
      id: `call_${index}`,
      function: { name: 'f', arguments: text },
    });
    const calls = [call(0, '{"a":'), call(1, JSON.stringify({ text: LONG }))];
    const usage = { prompt_tokens: 10, completion_tokens: 200, total_tokens: 210 };
    const events = [
      piece(null, { choices: [{ index: 0, delta: { tool_calls: calls }, finish_reason: 'tool_calls' }] }),
      piece(null, { choices: [], usage }),
    ];
    const outcome = await answered(caller, 'chat', events);
    expect(outcome.usage).toMatchObject({ completionTokens: 200, provenance: 'upstream' });
  });
});
