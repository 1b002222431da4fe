import { formatUsd, parseRate, parseUsd } from '../pricing/money';
import type { PriceList } from '../pricing/price';
import type { UpstreamStream } from '../wire/upstream-stream';
import { aModel, anAnswerContext, anEndpoint, textOf } from '../testing';
import { dialectOf } from '.';
import { TRANSLATIONS, type StreamableApi } from './dialect-pairs';
import { bedrockConverse } from './bedrock-converse';
import { googleGenerateContent } from './google-generate-content';
import { translateAnswer } from './translated-answer';
import { TranslatedStream } from './translated-stream';
import type { UpstreamTranslation } from './translation';

const PRICES: PriceList = {
  prompt: parseRate('0.000003'),
  completion: parseRate('0.000015'),
  inputCacheRead: parseRate('0.0000003'),
  inputCacheWrite: parseRate('0.000004'),
  imageToken: parseRate('0.000009'),
  audio: parseRate('0.00001'),
  inputAudioCache: parseRate('0.000001'),
};
const APIS: readonly StreamableApi[] = ['chat', 'responses', 'messages'];

const endpoint = anEndpoint({ pricing: PRICES, contextLength: 1_000_000 });
const context = anAnswerContext({
  model: aModel({ contextLength: 1_000_000, endpoints: [endpoint] }),
  endpoint,
  requestBody: Buffer.from('{"model":"m","messages":[{"role":"user","content":"hi"}],"input":"hi"}'),
});

function sent(events: readonly object[], last = ''): UpstreamStream {
  const left = [Buffer.from(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('') + last)];
  return { read: async () => left.shift() ?? null, leave: () => 0, cancel: () => undefined, discard: () => undefined };
}

const DONE = 'data: [DONE]\n\n';

/** What one answer costs the callers of each API, as dollars: all of them pay the same. */
function wholeCost(body: object, upstream: StreamableApi | UpstreamTranslation): string {
  const bytes = Buffer.from(JSON.stringify(body));
  const costs = APIS.map((api) => {
    if (api === upstream) return dialectOf(api).readAnswer(bytes, context).cost;
    return translateAnswer(bytes, context, { caller: TRANSLATIONS.get(api)!.caller, upstream: reading(upstream) }).cost;
  });
  return one(costs.map(({ totalCost }) => formatUsd(totalCost)));
}

async function streamCost(
  events: readonly object[],
  upstream: StreamableApi | UpstreamTranslation,
  last = DONE,
): Promise<string> {
  const costs = APIS.map(async (api) => {
    const incoming = sent(events, last);
    const stream =
      api === upstream
        ? await dialectOf(api).openStream!(incoming, context)
        : await TranslatedStream.open(incoming, context, {
            reader: reading(upstream).readStream(endpoint),
            writer: TRANSLATIONS.get(api)!.caller.writeStream(context),
          });
    for await (const _bytes of stream) continue;
    return formatUsd((await stream.outcome).cost.totalCost);
  });
  return one(await Promise.all(costs));
}

function reading(upstream: StreamableApi | UpstreamTranslation): UpstreamTranslation {
  return typeof upstream === 'string' ? TRANSLATIONS.get(upstream)!.upstream : upstream;
}

function one(costs: readonly string[]): string {
  expect(new Set(costs).size).toBe(1);
  return costs[0]!;
}

const chat = { id: 'c', object: 'chat.completion', created: 1, model: 'm' };
const message = { role: 'assistant', content: 'x' };
const answer = (usage: object) => ({ ...chat, choices: [{ index: 0, finish_reason: 'stop', message }], usage });
const chunk = (choice: object, members: object = {}) => ({
  ...chat,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta: {}, finish_reason: null, ...choice }],
  ...members,
});
const word = chunk({ delta: message });

const COUNTS = { prompt_tokens: 10_000, completion_tokens: 100, total_tokens: 10_100 };
/** 1,000 tokens of the prompt, 9,000 from the cache, 100 of the answer. */
const CACHED = '0.0072';

describe('what a chat provider counts', () => {
  it.each<[string, object, string]>([
    ['as OpenAI does', { prompt_tokens_details: { cached_tokens: 9_000 } }, CACHED],
    ['as Moonshot does', { cached_tokens: 9_000 }, CACHED],
    ['as DeepSeek does', { prompt_cache_hit_tokens: 9_000, prompt_cache_miss_tokens: 1_000 }, CACHED],
    ['as Mistral does', { num_cached_tokens: 9_000 }, CACHED],
    ['in two places', { cached_tokens: 9_000, prompt_tokens_details: { cached_tokens: 9_000 } }, CACHED],
    ['in two places that differ', { prompt_tokens_details: { cached_tokens: 9_000 }, cached_tokens: 8 }, CACHED],
    ['by two names that differ', { prompt_cache_hit_tokens: 8_000, cached_tokens: 9_000 }, '0.0099'],
    ['beside details that say nothing of it', { cached_tokens: 9_000, prompt_tokens_details: null }, CACHED],
    ['beside an absurd one', { cached_tokens: 9_000, prompt_tokens_details: { cached_tokens: -1 } }, CACHED],
    ['as pictures', { prompt_tokens_details: { text_tokens: 9_000, image_tokens: 1_000 } }, '0.0375'],
    // 6,000 of text and 3,000 of the picture from the cache.
    ['as pictures that are cached', { prompt_tokens_details: { image_tokens: 4_000, cached_tokens: 9_000 } }, '0.0132'],
    ['as more pictures than prompt', { prompt_tokens_details: { image_tokens: 99_000 } }, '0.0915'],
    ['as absurd pictures', { prompt_tokens_details: { image_tokens: -1.5 } }, '0.0315'],
    ['as Alibaba counts writes', { prompt_tokens_details: { cache_creation_input_tokens: 1_000 } }, '0.0325'],
  ])('costs the same for every caller, streamed or not: %s', async (_how, said, usd) => {
    const usage = { ...COUNTS, ...said };
    expect(wholeCost(answer(usage), 'chat')).toBe(usd);
    const last = chunk({ finish_reason: 'stop' }, { usage });
    expect(await streamCost([word, last], 'chat')).toBe(usd);
  });

  it.each<[string, object, string]>([
    // The prompt is estimated at 6 tokens, the answer at one.
    [
      'thoughts without a prompt',
      { completion_tokens: 100, completion_tokens_details: { reasoning_tokens: 99 } },
      '0.001518',
    ],
    [
      'a cache without a prompt',
      { completion_tokens: 100, prompt_tokens_details: { cached_tokens: 9_000 } },
      '0.0015018',
    ],
    ['a prompt without an answer', { prompt_tokens: 10_000 }, '0.030015'],
    ['a prompt from a cache without an answer', { prompt_tokens: 10_000, cached_tokens: 9_000 }, '0.005715'],
    ['no counts that can be true', { prompt_tokens: -1, completion_tokens: 'x' }, '0.000033'],
  ])('costs the same for every caller where it is only a part: %s', async (_which, usage, usd) => {
    expect(wholeCost(answer(usage), 'chat')).toBe(usd);
    expect(await streamCost([word, chunk({ finish_reason: 'stop' }, { usage })], 'chat')).toBe(usd);
  });

  const usage = { ...COUNTS, cached_tokens: 9_000 };
  const stop = { finish_reason: 'stop' };
  it.each<[string, readonly object[]]>([
    ['in a chunk of its own', [word, chunk(stop), { ...chat, choices: [], usage }]],
    ['in a choice', [word, chunk({ ...stop, usage })]],
    [
      'in a choice, and again in a chunk of its own',
      [word, chunk({ ...stop, usage }), { ...chat, choices: [], usage }],
    ],
    ['in a choice beside a usage of null', [word, chunk({ ...stop, usage }, { usage: null })]],
    ['beside an absurd one in a choice', [word, chunk({ ...stop, usage: COUNTS }, { usage })]],
    ['in the object of Groq', [word, chunk(stop, { x_groq: { id: 'req_1', usage } })]],
  ])('is read where it stands in a stream: %s', async (_where, events) => {
    expect(await streamCost(events, 'chat')).toBe(CACHED);
  });

  it('is read where it stands in an answer', () => {
    const choice = { index: 0, finish_reason: 'stop', message, usage };
    expect(wholeCost({ ...chat, choices: [choice] }, 'chat')).toBe(CACHED);
    const { usage: _none, ...plain } = answer(usage);
    expect(wholeCost({ ...plain, x_groq: { usage } }, 'chat')).toBe(CACHED);
  });

  it('comes to the caller once, with its cost, in the usage of the stream', async () => {
    const stream = await dialectOf('chat').openStream!(sent([word, chunk({ ...stop, usage })], DONE), context);
    const text = await textOf(stream);
    const chunks = text.match(/^data: \{.*$/gm)!.map((line) => JSON.parse(line.slice(6)) as Record<string, unknown>);
    expect(chunks.flatMap((one) => one['usage'] ?? [])).toMatchObject([
      { ...COUNTS, prompt_tokens_details: { cached_tokens: 9_000 }, cost: 0.0072 },
    ]);
  });

  it('comes to the caller in the place that the API has for it', () => {
    const { body } = dialectOf('chat').readAnswer(Buffer.from(JSON.stringify(answer(usage))), context);
    expect(JSON.parse(body.toString()).usage).toMatchObject({
      ...usage,
      prompt_tokens_details: { cached_tokens: 9_000 },
    });
  });
});

describe('what a provider of responses counts', () => {
  const response = (details: object) => ({
    id: 'r',
    object: 'response',
    status: 'completed',
    output: [{ type: 'message', id: 'm', role: 'assistant', content: [{ type: 'output_text', text: 'x' }] }],
    usage: { input_tokens: 10_000, output_tokens: 100, total_tokens: 10_100, ...details },
  });

  it.each<[string, object, string]>([
    ['pictures', { input_tokens_details: { cached_tokens: 0, image_tokens: 1_000 } }, '0.0375'],
    ['cached pictures', { input_tokens_details: { cached_tokens: 9_000, image_tokens: 4_000 } }, '0.0132'],
    ['sound', { input_tokens_details: { cached_tokens: 0, audio_tokens: 1_000 } }, '0.0385'],
    ['pictures of the answer', { output_tokens_details: { image_tokens: 100 } }, '0.0315'],
  ])('costs the same for every caller, streamed or not: %s', async (_what, details, usd) => {
    expect(wholeCost(response(details), 'responses')).toBe(usd);
    const completed = { type: 'response.completed', sequence_number: 1, response: response(details) };
    const created = { type: 'response.created', sequence_number: 0, response: { ...response({}), usage: null } };
    const delta = { type: 'response.output_text.delta', item_id: 'm', output_index: 0, content_index: 0, delta: 'x' };
    expect(await streamCost([created, delta, completed], 'responses')).toBe(usd);
  });
});

describe('what Gemini counts', () => {
  const gemini = (counts: object) => ({
    candidates: [{ content: { parts: [{ text: 'x' }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 6_000, candidatesTokenCount: 0, cachedContentTokenCount: 1_000, ...counts },
  });
  const of = (modality: string, tokenCount: number) => ({ modality, tokenCount });
  const promptTokensDetails = [of('TEXT', 1_000), of('AUDIO', 5_000)];

  it.each<[string, object, bigint]>([
    ['sound', { promptTokensDetails, cacheTokensDetails: [of('AUDIO', 1_000)] }, parseUsd('0.044')],
    ['text', { promptTokensDetails, cacheTokensDetails: [of('TEXT', 1_000)] }, parseUsd('0.0503')],
    [
      'sound and text',
      { promptTokensDetails, cacheTokensDetails: [of('TEXT', 400), of('AUDIO', 600)] },
      parseUsd('0.04652'),
    ],
    ['it does not say what', { promptTokensDetails }, parseUsd('0.0503')],
    [
      'more sound than was cached',
      { promptTokensDetails, cacheTokensDetails: [of('AUDIO', 9_000)] },
      parseUsd('0.044'),
    ],
  ])('from the cache costs the same for every caller, streamed or not: %s', async (_what, counts, usd) => {
    expect(wholeCost(gemini(counts), googleGenerateContent)).toBe(formatUsd(usd));
    expect(await streamCost([gemini(counts)], googleGenerateContent, '')).toBe(formatUsd(usd));
  });

  it('of thoughts is charged also without a count of the prompt', async () => {
    const counts = { promptTokenCount: undefined, cachedContentTokenCount: 0, thoughtsTokenCount: 690 };
    // 6 tokens of the prompt, by estimate.
    expect(wholeCost(gemini(counts), googleGenerateContent)).toBe('0.010368');
    expect(await streamCost([gemini(counts)], googleGenerateContent, '')).toBe('0.010368');
  });
});

describe('a usage with one of its two main counts', () => {
  const said = { type: 'text', text: 'x' };
  const block = (type: string, members: object) => ({ type, index: 0, ...members });
  const spoken = [
    block('content_block_start', { content_block: { type: 'text', text: '' } }),
    block('content_block_delta', { delta: { type: 'text_delta', text: 'x' } }),
    block('content_block_stop', {}),
  ];
  const ofMessages = (usage: object) => {
    const message = { id: 'm', type: 'message', role: 'assistant', model: 'm', usage: {} };
    const delta = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage };
    return {
      whole: { ...message, content: [said], stop_reason: 'end_turn', usage },
      events: [{ type: 'message_start', message }, ...spoken, delta, { type: 'message_stop' }],
    };
  };

  it.each<[string, object, string]>([
    // The prompt is estimated at 6 tokens, the answer at one.
    ['the output', { output_tokens: 690 }, '0.010368'],
    ['the input', { input_tokens: 5_000, cache_read_input_tokens: 1_000 }, '0.015315'],
    // The prompt is cut to the context of a million tokens, all but one of them from the cache.
    [
      'an absurd sum of inputs',
      { input_tokens: 1, cache_read_input_tokens: 2 ** 53 - 1, output_tokens: 1 },
      '0.300015',
    ],
    ['the output, beside an absurd input', { input_tokens: -1, output_tokens: 690 }, '0.010368'],
  ])('costs the same for every caller of a provider that speaks messages: %s', async (_which, usage, usd) => {
    const { whole, events } = ofMessages(usage);
    expect(wholeCost(whole, 'messages')).toBe(usd);
    expect(await streamCost(events, 'messages', '')).toBe(usd);
  });

  it.each<[string, object, string]>([
    ['the output', { outputTokens: 690 }, '0.010368'],
    ['the input', { inputTokens: 5_000, cacheReadInputTokens: 1_000 }, '0.015315'],
  ])('is charged at Bedrock: %s', async (_which, usage, usd) => {
    const message = { role: 'assistant', content: [{ text: 'x' }] };
    expect(wholeCost({ output: { message }, stopReason: 'end_turn', usage }, bedrockConverse)).toBe(usd);
  });
});
