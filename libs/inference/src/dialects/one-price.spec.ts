import { joinFrames } from '../model/answer-frame';
import fc from 'fast-check';
import { emptyUsage, type Usage } from '../pricing/usage';
import type { AnswerPart, CanonicalAnswer } from '../model/canonical-answer';
import type { UpstreamStream } from '../wire/upstream-stream';
import { aModel, anEndpoint, eventsOf } from '../testing';
import { priceUsage, type PriceList, type PriceListName } from '../pricing/price';
import { pricesFor } from '../pricing/price-overrides';
import { TRANSLATIONS, type StreamableApi } from './dialect-pairs';
import type { AnswerContext } from './dialect';
import { dialectOf } from '.';
import { translateAnswer } from './translated-answer';
import { TranslatedStream } from './translated-stream';
import type { Bill } from './translation';

const HOUR_MS = 3_600_000;
const rates = (factor: bigint): PriceList => ({
  prompt: factor * 1_300_007n,
  completion: factor * 7_000_011n,
  inputCacheRead: factor * 130_003n,
  imageToken: factor * 5_000_021n,
  internalReasoning: factor * 3_000_013n,
  overrides: [
    {
      minPromptTokens: 200_001,
      rates: { prompt: factor * 2_600_017n, completion: factor * 11_000_019n, imageToken: factor * 9_000_023n },
    },
    { utcStart: 16, utcEnd: 1, rates: { prompt: factor * 700_001n } },
  ],
});
const PRICES = { standard: rates(10n), priority: rates(20n), flex: rates(5n) };
const BATCH_PRICES = rates(6n);
const ENDPOINTS = Object.entries(PRICES).map(([service_tier, pricing]) =>
  anEndpoint({ pricing, batchPricing: BATCH_PRICES, contextLength: 2_000_000, capabilities: { service_tier } }),
);
const MODEL = aModel({ contextLength: 2_000_000, endpoints: ENDPOINTS });
const APIS = ['chat', 'responses', 'messages'] as const;
const PARTS: readonly AnswerPart[] = [{ type: 'text', text: 'Hello there' }];
const FREE: Bill['cost'] = { totalCost: 0n, promptCost: 0n, completionCost: 0n };

interface Call {
  readonly usage: Usage;
  /** As providers name it; null: they do not. */
  readonly tier: string | null;
  readonly beganMs: number;
  readonly priceList: PriceListName;
  /** Input that a chat provider counts outside the prompt, and reasoning outside the completion; null: it does not. */
  readonly citations: number | null;
  /** Image tokens of the prompt, which chat and responses count. */
  readonly imageTokens: number;
  /** Where a chat provider writes what it read from its cache; null: among the details of the prompt. */
  readonly cachedName: string | null;
  /** Where in an answer a chat provider writes its usage. */
  readonly usagePlace: 'answer' | 'choice' | 'x_groq';
}

const anyCall: fc.Arbitrary<Call> = fc
  .record({
    promptTokens: fc.oneof(fc.integer({ min: 1, max: 300_000 }), fc.constantFrom(199_999, 200_000, 200_001, 200_002)),
    cachedShare: fc.constantFrom(0, 0.3, 1),
    completionTokens: fc.integer({ min: 1, max: 5_000 }),
    reasoningShare: fc.constantFrom(0, 0.4, 1),
    citationShare: fc.constantFrom(null, 0, 0.6),
    tier: fc.constantFrom(null, 'default', 'standard', 'on_demand', 'priority', 'flex'),
    imageShare: fc.constantFrom(0, 0.2, 1),
    cachedName: fc.constantFrom(null, 'cached_tokens', 'prompt_cache_hit_tokens', 'num_cached_tokens'),
    usagePlace: fc.constantFrom('answer' as const, 'choice' as const, 'x_groq' as const),
    hour: fc.constantFrom(0, 0.99, 1, 12, 15.99, 16, 23),
    priceList: fc.constantFrom<PriceListName>('standard', 'batch'),
  })
  .map(({ promptTokens, completionTokens, hour, ...call }) => ({
    usage: {
      ...emptyUsage('upstream'),
      promptTokens,
      cachedTokens: Math.floor(promptTokens * call.cachedShare),
      completionTokens,
      reasoningTokens: Math.floor(completionTokens * call.reasoningShare),
      totalTokens: promptTokens + completionTokens,
    },
    tier: call.tier,
    beganMs: hour * HOUR_MS,
    priceList: call.priceList,
    citations: call.citationShare === null ? null : Math.floor(promptTokens * call.citationShare),
    imageTokens: Math.floor(promptTokens * call.imageShare),
    cachedName: call.cachedName,
    usagePlace: call.usagePlace,
  }));

const contextOf = ({ beganMs, priceList }: Call): AnswerContext => ({
  generationId: 'gen-1',
  model: MODEL,
  endpoint: ENDPOINTS[0]!,
  priceList,
  beganMs,
  requestBody: Buffer.from('{"model":"m","messages":[],"input":"hi"}'),
});

function answerOf({ usage, tier }: Call): CanonicalAnswer {
  return {
    upstreamId: 'up-1',
    createdAt: 1_763_715_601,
    choices: [{ parts: PARTS, finishReason: 'stop', nativeFinishReason: 'stop' }],
    usage,
    ...(tier !== null && { serviceTier: tier }),
  };
}

type Written = Record<string, unknown>;

/** An answer, a chunk or an event as a provider writes it that has its own names and places for the usage. */
function asProvider(upstream: StreamableApi, text: string, call: Call): string {
  const { usage, response, ...answer } = JSON.parse(text) as { usage?: Written; response?: { usage?: Written } };
  if (upstream === 'responses') {
    const holder = response ?? { usage };
    if (!holder.usage) return text;
    const { input_tokens_details } = holder.usage as { input_tokens_details: Written };
    input_tokens_details['image_tokens'] = call.imageTokens;
    return JSON.stringify({ ...answer, ...(response ? { response } : holder) });
  }
  if (upstream !== 'chat' || !usage) return text;
  return JSON.stringify(placed(answer, usageOfChat(usage, call), call));
}

function usageOfChat(written: Written, { usage, citations, imageTokens, cachedName }: Call): Written {
  const { cached_tokens: cached, ...details } = written['prompt_tokens_details'] as Written;
  const named = cachedName === null ? {} : { [cachedName]: cached };
  const prompt = { ...details, ...(cachedName === null && { cached_tokens: cached }), image_tokens: imageTokens };
  const counted = { ...written, ...named, prompt_tokens_details: prompt };
  return citations === null ? counted : { ...counted, ...withCitations(usage, citations) };
}

/** The counts as Perplexity writes those of a deep research. */
function withCitations(usage: Usage, citations: number): Written {
  const [prompt, completion] = [usage.promptTokens - citations, usage.completionTokens - usage.reasoningTokens];
  return {
    reasoning_tokens: usage.reasoningTokens,
    citation_tokens: citations,
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
  };
}

function placed(answer: { choices?: readonly object[] }, usage: Written, { usagePlace }: Call): object {
  if (usagePlace === 'answer') return { ...answer, usage };
  if (usagePlace === 'x_groq') return { ...answer, x_groq: { id: 'req_1', usage } };
  const [choice = { index: 0, delta: {}, finish_reason: null }] = answer.choices ?? [];
  return { ...answer, choices: [{ ...choice, usage }] };
}

/** What the upstream answers in its API. */
function wholeOf(upstream: StreamableApi, call: Call): Buffer {
  const { caller } = TRANSLATIONS.get(upstream)!;
  const bill = { usage: call.usage, cost: FREE };
  const written = JSON.stringify(caller.writeAnswer(answerOf(call), bill, contextOf(call)));
  return Buffer.from(asProvider(upstream, written, call));
}

function streamOf(upstream: StreamableApi, call: Call): Buffer {
  const writer = TRANSLATIONS.get(upstream)!.caller.writeStream(contextOf(call));
  const tier = call.tier === null ? {} : { serviceTier: call.tier };
  const events = eventsOf(PARTS, call.usage, 4).map((event) =>
    event.type === 'finish' ? { ...event, ...tier } : event,
  );
  const written = events.flatMap((event) => writer.write(event));
  const stream = joinFrames([...written, ...writer.complete({ usage: call.usage, cost: FREE })]);
  const rewritten = stream
    .toString()
    .replaceAll(/^data: (\{.*)$/gm, (_line, text: string) => `data: ${asProvider(upstream, text, call)}`);
  return Buffer.from(rewritten);
}

function costOfWhole(caller: StreamableApi, upstream: StreamableApi, call: Call): bigint {
  const body = wholeOf(upstream, call);
  if (caller === upstream) return dialectOf(caller).readAnswer(body, contextOf(call)).cost.totalCost;
  const translation = { caller: TRANSLATIONS.get(caller)!.caller, upstream: TRANSLATIONS.get(upstream)!.upstream };
  return translateAnswer(body, contextOf(call), translation).cost.totalCost;
}

function sent(body: Buffer): UpstreamStream {
  const left = [body];
  return { read: async () => left.shift() ?? null, leave: () => 0, cancel: () => undefined, discard: () => undefined };
}

async function costOfStream(caller: StreamableApi, upstream: StreamableApi, call: Call): Promise<bigint> {
  const context = contextOf(call);
  const incoming = sent(streamOf(upstream, call));
  const stream =
    caller === upstream
      ? await dialectOf(caller).openStream!(incoming, context)
      : await TranslatedStream.open(incoming, context, {
          reader: TRANSLATIONS.get(upstream)!.upstream.readStream(context.endpoint),
          writer: TRANSLATIONS.get(caller)!.caller.writeStream(context),
        });
  for await (const _bytes of stream) continue;
  return (await stream.outcome).cost.totalCost;
}

function expectedCost(upstream: StreamableApi, { usage, tier, beganMs, priceList, imageTokens }: Call): bigint {
  const served = tier === 'priority' || tier === 'flex' ? tier : 'standard';
  const list = priceList === 'batch' ? BATCH_PRICES : PRICES[served];
  const units = upstream === 'messages' ? {} : { imageTokens };
  return priceUsage(pricesFor(list, usage.promptTokens, beganMs), usage, units).totalCost;
}

describe('the price of a request', () => {
  const ways = APIS.flatMap((caller) => APIS.map((upstream) => [caller, upstream] as const));

  it.each(ways)(
    'is the same for callers of %s at an upstream that speaks %s, streamed or not',
    async (caller, upstream) => {
      await fc.assert(
        fc.asyncProperty(anyCall, async (call) => {
          const expected = expectedCost(upstream, call);
          expect(costOfWhole(caller, upstream, call)).toBe(expected);
          expect(await costOfStream(caller, upstream, call)).toBe(expected);
        }),
        { numRuns: 60 },
      );
    },
  );
});
