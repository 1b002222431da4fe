import {
  dearestCompletion,
  estimatedPrice,
  estimatePromptTokens,
  highestPricesFor,
  managedLanePrices,
  priceUsage,
  type Endpoint,
  type PicoUsd,
  type PriceList,
} from '@libs/inference';
import type { BatchLineDraft } from './batch-line';

/** Text is nearer four bytes a token. Three keep the hold above the bill, so that most batches need not extend it. */
const BYTES_PER_TOKEN = 3;
/** What a line without a cap is expected to generate at most; what goes beyond it is still charged. */
const UNCAPPED_OUTPUT_TOKENS = 1_024;

/** Lines whose prompts have fewer tokens than a power of two, and at least half as many. */
interface SizeClass {
  lines: number;
  promptTokens: number;
  cappedOutputTokens: number;
  uncappedAnswers: number;
}

/**
 * What a batch will cost at most, as far as its lines say: gathered while they stream in, priced when the
 * endpoint is known. Constant memory for any number of lines: they are summed by size, because long prompts may have
 * rates of their own.
 */
export class BatchEstimate {
  /** At the exponent of their power of two. */
  private readonly classes: (SizeClass | undefined)[] = [];

  add(line: BatchLineDraft): void {
    const promptTokens = promptTokensOf(line.body);
    const size = (this.classes[bitsOf(promptTokens)] ??= emptyClass());
    size.lines += 1;
    size.promptTokens += promptTokens;
    if (line.maxOutputTokens === null) size.uncappedAnswers += line.choices;
    else size.cappedOutputTokens += line.maxOutputTokens;
  }

  /** Pico-dollars. Embeddings generate no tokens. */
  costAt(endpoint: Endpoint, generates: boolean): PicoUsd {
    const prices = managedLanePrices(endpoint.provider) === 'batch' ? endpoint.batchPricing : endpoint.pricing;
    const perAnswer = Math.min(UNCAPPED_OUTPUT_TOKENS, endpoint.maxCompletionTokens ?? UNCAPPED_OUTPUT_TOKENS);
    let sum = 0n;
    for (const [bits, size] of this.classes.entries()) {
      if (size === undefined) continue;
      const completionTokens = generates ? size.cappedOutputTokens + size.uncappedAnswers * perAnswer : 0;
      sum += costOf(highestPricesFor(prices, 0, 2 ** bits - 1), size, completionTokens);
    }
    return sum;
  }
}

/** Symbols, numbers and rare scripts have more tokens than a third of their bytes. */
function promptTokensOf(body: Buffer): number {
  return Math.max(Math.ceil(body.length / BYTES_PER_TOKEN), estimatePromptTokens(body));
}

function costOf(prices: PriceList, { lines, promptTokens }: SizeClass, completionTokens: number): PicoUsd {
  const usage = {
    promptTokens,
    completionTokens,
    totalTokens: promptTokens + completionTokens,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    audioPromptTokens: 0,
    audioCompletionTokens: 0,
    provenance: 'estimated' as const,
  };
  // All tokens of an answer may be of its dearest kind.
  return (
    priceUsage({ ...prices, completion: dearestCompletion(prices) }, usage).totalCost +
    estimatedPrice(prices.request ?? 0n, BigInt(lines - 1))
  );
}

/** The least exponent of a power of two above a whole number. */
function bitsOf(count: number): number {
  return 32 - Math.clz32(count);
}

function emptyClass(): SizeClass {
  return { lines: 0, promptTokens: 0, cappedOutputTokens: 0, uncappedAnswers: 0 };
}
