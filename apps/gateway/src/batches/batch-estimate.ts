import {
  cachesUnasked,
  estimatedPrice,
  highestPricesFor,
  managedLanePrices,
  maxTokensOf,
  mayDropCap,
  priceExpected,
  searchesUnasked,
  toolRate,
  uncappedTokens,
  type CallableApi,
  type Endpoint,
  type ExpectedUse,
  type PicoUsd,
  type PriceList,
  type PromptKinds,
  type ProviderTool,
  type StreamableApi,
} from '@libs/inference';
import type { BatchLineDraft } from './batch-line';

/** Text is nearer four bytes a token. Three keep the hold above the bill, so that most batches need not extend it. */
const BYTES_PER_TOKEN = 3;

const PLAIN_TEXT: PromptKinds = { audioTokens: 0, imageTokens: 0, images: 0, cacheWrite: null };
const GENERATING_APIS = ['chat', 'responses', 'messages'] as const;
const CACHE_WRITES: readonly PromptKinds['cacheWrite'][] = [null, '5m', '1h'];

/** Output that lines ask for when one API reads them. */
interface AskedOutput {
  cappedTokens: number;
  uncappedAnswers: number;
  /** Answers with a cap that are to think: a provider may be sent none. */
  thinkingAnswers: number;
}

/** Lines whose prompts have fewer tokens than a power of two, and at least half as many, and ask for one cache write. */
interface SizeClass {
  readonly bits: number;
  readonly cacheWrite: PromptKinds['cacheWrite'];
  lines: number;
  answers: number;
  promptTokens: number;
  audioTokens: number;
  imageTokens: number;
  images: number;
  readonly output: Readonly<Record<StreamableApi, AskedOutput>>;
}

/**
 * What a batch will cost at most, as far as its lines say: gathered while they stream in, priced when the
 * endpoint is known. Constant memory for any number of lines: they are summed by size, because long prompts may have
 * rates of their own, and by what they ask of a prompt cache.
 */
export class BatchEstimate {
  private readonly classes: (SizeClass | undefined)[] = [];
  private readonly tools = new AskedTools();

  add(line: BatchLineDraft): void {
    const { tokens, kinds } = line.prompt;
    // Symbols, numbers and rare scripts have more tokens than a third of their bytes.
    const promptTokens = Math.max(Math.ceil(line.body.length / BYTES_PER_TOKEN), tokens);
    const { cacheWrite, audioTokens, imageTokens, images } = kinds ?? PLAIN_TEXT;
    const size = this.classOf(bitsOf(promptTokens), cacheWrite);
    size.lines += 1;
    size.answers += line.choices;
    size.promptTokens += promptTokens;
    size.audioTokens += audioTokens;
    size.imageTokens += imageTokens;
    size.images += images;
    for (const api of GENERATING_APIS) addOutput(size.output[api], line, line.maxOutputTokens[api]);
    for (const tool of line.tools) this.tools.add(tool);
  }

  /** Returns pico-dollars. Embeddings generate no tokens. */
  costAt(endpoint: Endpoint, api: CallableApi): PicoUsd {
    const prices = managedLanePrices(endpoint.provider) === 'batch' ? endpoint.batchPricing : endpoint.pricing;
    let sum = 0n;
    let lines = 0;
    for (const size of this.classes) {
      if (size === undefined) continue;
      lines += size.lines;
      sum += priceExpected(highestPricesFor(prices, 0, 2 ** size.bits - 1), useOf(size, endpoint, api));
    }
    if (api === 'embeddings') return sum;
    const searches = searchesUnasked(endpoint) ? estimatedPrice(prices.webSearch ?? 0n, BigInt(lines)) : 0n;
    return sum + searches + this.tools.costAt(prices);
  }

  private classOf(bits: number, cacheWrite: PromptKinds['cacheWrite']): SizeClass {
    const index = bits * CACHE_WRITES.length + CACHE_WRITES.indexOf(cacheWrite);
    return (this.classes[index] ??= {
      bits,
      cacheWrite,
      lines: 0,
      answers: 0,
      promptTokens: 0,
      audioTokens: 0,
      imageTokens: 0,
      images: 0,
      output: { chat: noOutput(), responses: noOutput(), messages: noOutput() },
    });
  }
}

/** Number of distinct tools that are counted, so that invented tool names take no memory. */
const MOST_TOOLS = 64;

/** How many lines ask for each tool of the provider. One use each is reserved; a batch that has more extends its hold. */
class AskedTools {
  private readonly lines = new Map<ProviderTool, number>();
  private others = 0;

  add(tool: ProviderTool): void {
    const isKnown = this.lines.has(tool) || this.lines.size < MOST_TOOLS;
    if (isKnown) this.lines.set(tool, (this.lines.get(tool) ?? 0) + 1);
    else this.others += 1;
  }

  costAt(prices: PriceList): PicoUsd {
    const rates = [prices.webSearch ?? 0n, ...Object.values(prices.tools ?? {})];
    const dearest = rates.reduce((most, rate) => (rate > most ? rate : most));
    return [...this.lines].reduce(
      (sum, [tool, lines]) => sum + estimatedPrice(toolRate(prices, tool) ?? 0n, BigInt(lines)),
      estimatedPrice(dearest, BigInt(this.others)),
    );
  }
}

const noOutput = (): AskedOutput => ({ cappedTokens: 0, uncappedAnswers: 0, thinkingAnswers: 0 });

function addOutput(output: AskedOutput, { choices, asksToThink }: BatchLineDraft, cap: number | null): void {
  if (cap === null) output.uncappedAnswers += choices;
  else output.cappedTokens += cap;
  if (cap !== null && asksToThink) output.thinkingAnswers += choices;
}

function outputTokens({ output }: SizeClass, endpoint: Endpoint, api: StreamableApi): number {
  const { cappedTokens, uncappedAnswers, thinkingAnswers } = output[api];
  const expected = uncappedTokens(endpoint);
  // Without a cap the gateway writes one for the Messages API, and models do write that much.
  const isWritten = api === 'messages' && endpoint.apis.includes('messages');
  const uncapped = uncappedAnswers * (isWritten ? maxTokensOf(endpoint) : expected);
  return cappedTokens + uncapped + (mayDropCap(endpoint) ? thinkingAnswers * expected : 0);
}

function useOf(size: SizeClass, endpoint: Endpoint, api: CallableApi): ExpectedUse {
  const generates = api !== 'embeddings';
  return {
    promptTokens: size.promptTokens,
    kinds: size,
    cachesUnasked: cachesUnasked(endpoint),
    completionTokens: generates ? outputTokens(size, endpoint, api) : 0,
    answers: generates ? size.answers : 0,
    calls: size.lines,
  };
}

/** The least exponent of a power of two above a whole number. */
function bitsOf(count: number): number {
  return 32 - Math.clz32(count);
}
