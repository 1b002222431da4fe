import type { JsonObject } from '@libs/json';
import { APIS } from '../apis/apis';
import { callAbandoned } from '../model/cancellation';
import { UNKNOWN_PROMPT } from '../model/json-shape';
import { parseRate } from '../pricing/money';
import { anAnswerContext, anEndpoint } from '../testing';
import { StreamMeter } from './answer-billing';
import { MessagesStream } from './anthropic-messages/relayed-stream';
import type { AnswerContext } from './dialect';
import { OpenAiResponsesStream } from './openai-responses/relayed-stream';

const PROMPT = 100;
const SEARCH_TOKENS = 8_000;
/** Three and fifteen dollars for a million tokens. */
const RATES = { prompt: parseRate('0.000003'), completion: parseRate('0.000015') };
const SEARCH_RATE = parseRate('0.01');
const PRICING = { ...RATES, webSearch: SEARCH_RATE };

function contextOf(api: 'responses' | 'messages', request: JsonObject, contextLength = 400_000): AnswerContext {
  const { outputOf, toolUsesOf } = APIS[api];
  return anAnswerContext({
    endpoint: anEndpoint({ apis: [api], pricing: PRICING, contextLength }),
    requestBody: Buffer.from(JSON.stringify(request)),
    prompt: { ...UNKNOWN_PROMPT, tokens: PROMPT, likelyTokens: PROMPT },
    expected: () => outputOf(request),
    toolUses: () => toolUsesOf(request),
  });
}

const ASKED = { max_output_tokens: 4_000, input: 'Hi', tools: [{ type: 'web_search' }] };
const MESSAGE = {
  max_tokens: 4_000,
  messages: [{ role: 'user', content: 'Hi' }],
  tools: [{ type: 'web_search_20250305', name: 'web_search' }],
};

const eventOf = (type: string, members: object): Buffer =>
  Buffer.from(`event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`);

/** An upstream whose stream is given up after these events. */
function givenUp(pieces: readonly Buffer[]) {
  const left = [...pieces];
  const read = async () => {
    if (left.length === 0) throw callAbandoned();
    return left.shift()!;
  };
  return { read, leave: () => 100_000, cancel: () => undefined, discard: () => undefined };
}

/** The prompt, and after each of `searches` all that was found up to then again. */
const readAfter = (searches: number): number =>
  PROMPT * (searches + 1) + (SEARCH_TOKENS * searches * (searches + 1)) / 2;

function searchesOfResponse(count: number): readonly Buffer[] {
  const response = { id: 'u', object: 'response', created_at: 1, model: 'm', status: 'in_progress', output: [] };
  const action = { type: 'search', query: 'q' };
  return [
    eventOf('response.created', { response }),
    ...Array.from({ length: count }, (_, at) =>
      eventOf('response.output_item.done', {
        output_index: at,
        item: { id: `ws_${at}`, type: 'web_search_call', status: 'completed', action },
      }),
    ),
  ];
}

async function leftResponse(events: readonly Buffer[], request: JsonObject = ASKED) {
  const stream = await OpenAiResponsesStream.open(givenUp(events), contextOf('responses', request));
  stream.cancel();
  return stream.outcome;
}

const TEXT_OF_RESPONSE = eventOf('response.output_text.delta', { output_index: 9, delta: 'words '.repeat(200) });

const BLOCKS_OF_SEARCH = [
  { type: 'server_tool_use', id: 'a', name: 'web_search' },
  { type: 'web_search_tool_result', tool_use_id: 'a', content: [] },
];

async function leftMessage(blocks: readonly object[], request: JsonObject = MESSAGE, text = '') {
  const message = { id: 'm', type: 'message', role: 'assistant', content: [], usage: { input_tokens: 100 } };
  const events = [
    eventOf('message_start', { message }),
    ...blocks.map((content_block, index) => eventOf('content_block_start', { index, content_block })),
    eventOf('content_block_delta', { index: 9, delta: { type: 'text_delta', text } }),
  ];
  const stream = await MessagesStream.open(givenUp(events), contextOf('messages', request));
  stream.cancel();
  return stream.outcome;
}

describe('a stream that is left after its provider used tools', () => {
  it.each([0, 1, 3, 5])('of responses is billed what %i searches read', async (searches) => {
    const { usage, cost } = await leftResponse([...searchesOfResponse(searches), TEXT_OF_RESPONSE]);
    expect(usage).toMatchObject({ promptTokens: readAfter(searches), provenance: 'partial' });
    expect(cost.toolCosts?.get('web_search') ?? 0n).toBe(BigInt(searches) * 10_000_000_000n);
  });

  it('of responses is billed what was written before the last use once more', async () => {
    const early = await leftResponse([...searchesOfResponse(0), TEXT_OF_RESPONSE, ...searchesOfResponse(1).slice(1)]);
    expect(early.usage.promptTokens).toBe(readAfter(1) + early.usage.completionTokens);
  });

  it('of responses is billed no more reads than were reserved', async () => {
    const { usage } = await leftResponse([...searchesOfResponse(9), TEXT_OF_RESPONSE]);
    expect(usage.promptTokens).toBe(readAfter(5));
  });

  it('of responses is billed pages that a search opened like results', async () => {
    const page = { id: 'ws_7', type: 'web_search_call', status: 'completed', action: { type: 'open_page', url: 'u' } };
    const opened = eventOf('response.output_item.done', { output_index: 7, item: page });
    const { usage, cost } = await leftResponse([...searchesOfResponse(1), opened]);
    expect(usage.promptTokens).toBe(readAfter(2));
    expect(cost.toolCosts?.get('web_search')).toBe(10_000_000_000n);
  });

  it.each([0, 1, 3, 5])('of messages is billed what %i searches read', async (searches) => {
    const blocks = Array.from({ length: searches }, () => BLOCKS_OF_SEARCH).flat();
    const { usage, cost } = await leftMessage(blocks, MESSAGE, 'words '.repeat(200));
    expect(usage).toMatchObject({ promptTokens: readAfter(searches), provenance: 'partial' });
    expect(cost.toolCosts?.get('web_search') ?? 0n).toBe(BigInt(searches) * 10_000_000_000n);
  });
});

describe('a stream that is left after a compaction', () => {
  const SUMMARY_TOKENS = 20_000;

  it('of messages is billed its reading and its summary', async () => {
    const edits = [{ type: 'compact_20260112' }];
    const request = { ...MESSAGE, tools: [], context_management: { edits } };
    expect((await leftMessage([], request)).usage).toMatchObject({ promptTokens: PROMPT, completionTokens: 0 });
    const { usage } = await leftMessage([{ type: 'compaction', content: null }], request);
    expect(usage).toMatchObject({ promptTokens: 2 * PROMPT, completionTokens: SUMMARY_TOKENS });
  });

  it('of responses is billed its reading and its summary', async () => {
    const request = { ...ASKED, tools: [], context_management: [{ type: 'compaction', compact_threshold: 9_000 }] };
    expect((await leftResponse(searchesOfResponse(0), request)).usage.promptTokens).toBe(PROMPT);
    const item = { id: 'cmp_1', type: 'compaction', encrypted_content: 'x' };
    const compacted = eventOf('response.output_item.done', { output_index: 0, item });
    const { usage } = await leftResponse([...searchesOfResponse(0), compacted], request);
    expect(usage).toMatchObject({ promptTokens: 2 * PROMPT, completionTokens: SUMMARY_TOKENS });
  });
});

describe('a call that is billed all that it reserved', () => {
  it.each([
    ['responses', ASKED, 5],
    ['messages', MESSAGE, 5],
  ] as const)('pays every use of its tools, what they read and the whole output (%s)', (api, request, uses) => {
    const { usage, cost } = new StreamMeter(contextOf(api, request)).left(true);
    expect(usage.completionTokens).toBe(4_000);
    expect(usage.promptTokens).toBeGreaterThanOrEqual(readAfter(uses) + uses * 4_000);
    expect(cost.toolCosts?.get('web_search')).toBe(BigInt(uses) * 10_000_000_000n);
  });

  it('pays nothing more without tools', () => {
    const { usage } = new StreamMeter(contextOf('responses', { ...ASKED, tools: [] })).left(true);
    expect(usage).toMatchObject({ promptTokens: PROMPT, completionTokens: 4_000 });
  });
});
