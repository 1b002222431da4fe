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
  internalReasoning: factor * 3_000_013n,
  overrides: [
    { minPromptTokens: 200_001, rates: { prompt: factor * 2_600_017n, completion: factor * 11_000_019n } },
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
  /** Input that a chat provider counts beside the prompt, and reasoning beside the completion; null: it does not. */
  readonly citations: number | null;
}

const anyCall: fc.Arbitrary<Call> = fc
  .record({
    promptTokens: fc.oneof(fc.integer({ min: 1, max: 300_000 }), fc.constantFrom(199_999, 200_000, 200_001, 200_002)),
    cachedShare: fc.constantFrom(0, 0.3, 1),
    completionTokens: fc.integer({ min: 1, max: 5_000 }),
    reasoningShare: fc.constantFrom(0, 0.4, 1),
    citationShare: fc.constantFrom(null, 0, 0.6),
    tier: fc.constantFrom(null, 'default', 'priority', 'flex'),
    hour: fc.constantFrom(0, 0.99, 1, 12, 15.99, 16, 23),
    priceList: fc.constantFrom<PriceListName>('standard', 'batch'),
  })
  .map(({ promptTokens, cachedShare, completionTokens, reasoningShare, citationShare, tier, hour, priceList }) => ({
    usage: {
      ...emptyUsage('upstream'),
      promptTokens,
      cachedTokens: Math.floor(promptTokens * cachedShare),
      completionTokens,
      reasoningTokens: Math.floor(completionTokens * reasoningShare),
      totalTokens: promptTokens + completionTokens,
    },
    tier,
    beganMs: hour * HOUR_MS,
    priceList,
    citations: citationShare === null ? null : Math.floor(promptTokens * citationShare),
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

/** The usage as Perplexity writes that of a deep research, where the provider counts citations. */
function withCitations(text: string, { usage, citations }: Call): string {
  const answer = JSON.parse(text) as { usage?: Record<string, unknown> | null };
  if (citations === null || !answer.usage) return text;
  const [prompt, completion] = [usage.promptTokens - citations, usage.completionTokens - usage.reasoningTokens];
  answer.usage = {
    ...answer.usage,
    reasoning_tokens: usage.reasoningTokens,
    citation_tokens: citations,
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
  };
  return JSON.stringify(answer);
}

/** What the upstream answers in its API. */
function wholeOf(upstream: StreamableApi, call: Call): Buffer {
  const { caller } = TRANSLATIONS.get(upstream)!;
  const bill = { usage: call.usage, cost: FREE };
  const written = JSON.stringify(caller.writeAnswer(answerOf(call), bill, contextOf(call)));
  return Buffer.from(upstream === 'chat' ? withCitations(written, call) : written);
}

function streamOf(upstream: StreamableApi, call: Call): Buffer {
  const writer = TRANSLATIONS.get(upstream)!.caller.writeStream(contextOf(call));
  const tier = call.tier === null ? {} : { serviceTier: call.tier };
  const events = eventsOf(PARTS, call.usage, 4).map((event) =>
    event.type === 'finish' ? { ...event, ...tier } : event,
  );
  const written = events.flatMap((event) => writer.write(event));
  const stream = Buffer.concat([...written, ...writer.complete({ usage: call.usage, cost: FREE })]);
  if (upstream !== 'chat') return stream;
  const rewritten = stream
    .toString()
    .replaceAll(/^data: (\{.*)$/gm, (_line, text: string) => `data: ${withCitations(text, call)}`);
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

function expectedCost({ usage, tier, beganMs, priceList }: Call): bigint {
  const served = tier === null || tier === 'default' ? 'standard' : (tier as keyof typeof PRICES);
  const list = priceList === 'batch' ? BATCH_PRICES : PRICES[served];
  return priceUsage(pricesFor(list, usage.promptTokens, beganMs), usage).totalCost;
}

describe('the price of a request', () => {
  const ways = APIS.flatMap((caller) => APIS.map((upstream) => [caller, upstream] as const));

  it.each(ways)(
    'is the same for callers of %s at an upstream that speaks %s, streamed or not',
    async (caller, upstream) => {
      await fc.assert(
        fc.asyncProperty(anyCall, async (call) => {
          const expected = expectedCost(call);
          expect(costOfWhole(caller, upstream, call)).toBe(expected);
          expect(await costOfStream(caller, upstream, call)).toBe(expected);
        }),
        { numRuns: 60 },
      );
    },
  );
});
