import type { UpstreamStream } from '../wire/upstream-stream';
import { aModel, anAnswerContext, anEndpoint } from '../testing';
import { dialectOf } from '.';
import { TRANSLATIONS, type StreamableApi } from './dialect-pairs';
import { translateAnswer } from './translated-answer';
import { TranslatedStream } from './translated-stream';

const CONTEXT_LENGTH = 128_000;
const PROMPT_TOKENS = 900_000;
const MICRO = 1_000_000_000_000n;
const endpoint = anEndpoint({
  apis: ['chat', 'responses', 'messages'],
  contextLength: CONTEXT_LENGTH,
  pricing: { prompt: 2n * MICRO, completion: 8n * MICRO, webSearch: 5_000n * MICRO },
});
const context = anAnswerContext({
  model: aModel({ contextLength: CONTEXT_LENGTH, endpoints: [endpoint] }),
  endpoint,
  requestBody: Buffer.from('{"model":"m","messages":[],"input":"hi"}'),
});
const APIS = ['chat', 'responses', 'messages'] as const;

interface Report {
  readonly promptTokens: number;
  readonly usd: number;
}

interface Answer {
  readonly whole: object;
  readonly events: readonly object[];
}

const times = (count: number, make: (index: number) => object[]): object[] =>
  Array.from({ length: count }, (_, index) => make(index)).flat();

function response(output: readonly object[]): Answer {
  const usage = { input_tokens: PROMPT_TOKENS, output_tokens: 10, total_tokens: PROMPT_TOKENS + 10 };
  const text = { type: 'output_text', text: 'Hi', annotations: [] };
  const said = { type: 'message', id: 'm', role: 'assistant', status: 'completed', content: [text] };
  const whole = { id: 'r', object: 'response', status: 'completed', output: [...output, said], usage };
  return {
    whole,
    events: [
      { type: 'response.created', response: { ...whole, status: 'in_progress', output: [], usage: null } },
      { type: 'response.completed', response: whole },
    ],
  };
}

function message(blocks: readonly object[], more: object = {}): Answer {
  const usage = { input_tokens: PROMPT_TOKENS, output_tokens: 10, ...more };
  const content = [...blocks, { type: 'text', text: 'Hi' }];
  const whole = { id: 'm', type: 'message', role: 'assistant', model: 'm', content, stop_reason: 'end_turn', usage };
  return {
    whole,
    events: [
      { type: 'message_start', message: { ...whole, content: [], stop_reason: null } },
      ...content.flatMap((block, index) => [
        { type: 'content_block_start', index, content_block: block },
        { type: 'content_block_stop', index },
      ]),
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
      { type: 'message_stop' },
    ],
  };
}

function chat(searches: number, promptTokens: number): Answer {
  const usage = { prompt_tokens: promptTokens, completion_tokens: 10, num_search_queries: searches };
  const choice = { index: 0, finish_reason: 'stop' };
  const said = { role: 'assistant', content: 'Hi' };
  const whole = { id: 'c', object: 'chat.completion', choices: [{ ...choice, message: said }], usage };
  return { whole, events: [{ ...whole, object: 'chat.completion.chunk', choices: [{ ...choice, delta: said }] }] };
}

function sent(events: readonly object[]): UpstreamStream {
  const framed = events.map((event) => `data: ${JSON.stringify(event)}\n\n`);
  const left = [Buffer.from(`${framed.join('')}`)];
  return { read: async () => left.shift() ?? null, leave: () => 0, cancel: () => undefined, discard: () => undefined };
}

const reportOf = (bill: { usage: { promptTokens: number }; cost: { totalCost: bigint } }): Report => ({
  promptTokens: bill.usage.promptTokens,
  usd: Number(bill.cost.totalCost) / 1e12,
});

function billedWhole(caller: StreamableApi, upstream: StreamableApi, { whole }: Answer): Report {
  const body = Buffer.from(JSON.stringify(whole));
  if (caller === upstream) return reportOf(dialectOf(caller).readAnswer(body, context));
  const sides = { caller: TRANSLATIONS.get(caller)!.caller, upstream: TRANSLATIONS.get(upstream)!.upstream };
  return reportOf(translateAnswer(body, context, sides));
}

async function billedStream(caller: StreamableApi, upstream: StreamableApi, { events }: Answer): Promise<Report> {
  const stream =
    caller === upstream
      ? await dialectOf(caller).openStream!(sent(events), context)
      : await TranslatedStream.open(sent(events), context, {
          reader: TRANSLATIONS.get(upstream)!.upstream.readStream(endpoint),
          writer: TRANSLATIONS.get(caller)!.caller.writeStream(context),
        });
  for await (const _bytes of stream) continue;
  return reportOf(await stream.outcome);
}

const search = (index: number): object[] => [
  { type: 'web_search_call', id: `w${index}`, status: 'completed', action: { type: 'search', query: 'q' } },
];
const page = (index: number): object[] => [
  { type: 'web_search_call', id: `p${index}`, status: 'completed', action: { type: 'open_page', url: 'https://a.b' } },
];
const code = (index: number): object[] => [
  { type: 'server_tool_use', id: `s${index}`, name: 'code_execution', input: {} },
  { type: 'code_execution_tool_result', tool_use_id: `s${index}`, content: {} },
];
const mcp = (index: number): object[] => [
  { type: 'mcp_tool_use', id: `t${index}`, name: 'f', server_name: 's', input: {} },
];

const TOKENS_USD = 1.80008;
const ANSWERS: readonly (readonly [string, StreamableApi, Answer, number])[] = [
  ['searches', 'responses', response(times(12, search)), TOKENS_USD + 0.06],
  [
    'one search and the pages that it opened',
    'responses',
    response([...times(1, search), ...times(9, page)]),
    TOKENS_USD + 0.005,
  ],
  ['searches', 'messages', message([], { server_tool_use: { web_search_requests: 12 } }), TOKENS_USD + 0.06],
  ['fetches', 'messages', message([], { server_tool_use: { web_fetch_requests: 12 } }), TOKENS_USD],
  ['runs of code', 'messages', message(times(9, code)), TOKENS_USD],
  ['uses of MCP', 'messages', message(times(9, mcp)), TOKENS_USD],
  ['searches', 'chat', chat(12, PROMPT_TOKENS), TOKENS_USD + 0.06],
];
const WAYS = ANSWERS.flatMap(([what, upstream, answer, usd]) =>
  APIS.map((caller) => [what, upstream, caller, answer, usd] as const),
);

describe('a prompt that the model read again after each use of a tool that the provider ran', () => {
  it.each(WAYS)('is charged whole: %s on %s, for callers of %s', async (_what, upstream, caller, answer, usd) => {
    const expected = { promptTokens: PROMPT_TOKENS, usd: expect.closeTo(usd, 9) };
    expect(billedWhole(caller, upstream, answer)).toEqual(expected);
    expect(await billedStream(caller, upstream, answer)).toEqual(expected);
  });

  it('is charged whole beyond the cap that the provider was sent, for the provider charges it too', async () => {
    const capped = { ...context, requestBody: Buffer.from('{"model":"m","input":"hi","max_tool_calls":3}') };
    const [, , { whole }, usd] = ANSWERS[0]!;
    const bill = dialectOf('responses').readAnswer(Buffer.from(JSON.stringify(whole)), capped);
    expect(reportOf(bill).usd).toBeCloseTo(usd, 9);
  });

  it.each(APIS)('is cut to one context where no tool ran (%s)', async (caller) => {
    for (const [upstream, answer] of [
      ['responses', response([])],
      ['messages', message([])],
    ] as const) {
      expect(billedWhole(caller, upstream, answer).promptTokens).toBe(CONTEXT_LENGTH);
      expect((await billedStream(caller, upstream, answer)).promptTokens).toBe(CONTEXT_LENGTH);
    }
  });
});

describe('an absurd count of searches', () => {
  const absurd = Number.MAX_SAFE_INTEGER;
  const answers = [
    ['chat', chat(absurd, 10)],
    ['messages', message([], { input_tokens: 10, server_tool_use: { web_search_requests: absurd } })],
  ] as const;
  const ways = answers.flatMap(([upstream, answer]) => APIS.map((caller) => [upstream, caller, answer] as const));

  it.each(ways)('costs no more than a hundred of them: %s for callers of %s', async (upstream, caller, answer) => {
    expect(billedWhole(caller, upstream, answer).usd).toBeCloseTo(0.5001, 9);
    expect((await billedStream(caller, upstream, answer)).usd).toBeCloseTo(0.5001, 9);
  });
});
