import { managedLanePrices, priceUsage, type Endpoint, type PicoUsd } from '@libs/inference';
import type { BatchLineDraft } from './batch-line';

/** Text is nearer four bytes a token; three keeps the hold above the bill for most languages. */
const BYTES_PER_TOKEN = 3;
/** What a line without a cap is expected to generate at most; what goes beyond it is still charged. */
const UNCAPPED_OUTPUT_TOKENS = 1_024;
/** Rates are held in 10^-18 dollars, money in 10^-12. */
const RATE_PER_PICO_USD = 1_000_000n;

/**
 * What a batch will cost at most, as far as its lines say: gathered while they stream in, priced when the
 * endpoint is known. Constant memory for any number of lines.
 */
export class BatchEstimate {
  private lines = 0;
  private promptTokens = 0;
  private cappedOutputTokens = 0;
  private uncappedAnswers = 0;

  add(line: BatchLineDraft): void {
    this.lines += 1;
    this.promptTokens += Math.ceil(line.body.length / BYTES_PER_TOKEN);
    if (line.maxOutputTokens === null) this.uncappedAnswers += line.choices;
    else this.cappedOutputTokens += line.maxOutputTokens;
  }

  /** Pico-dollars. Embeddings generate no tokens. */
  costAt(endpoint: Endpoint, generates: boolean): PicoUsd {
    const perAnswer = Math.min(UNCAPPED_OUTPUT_TOKENS, endpoint.maxCompletionTokens ?? UNCAPPED_OUTPUT_TOKENS);
    const completionTokens = generates ? this.cappedOutputTokens + this.uncappedAnswers * perAnswer : 0;
    const usage = {
      promptTokens: this.promptTokens,
      completionTokens,
      totalTokens: this.promptTokens + completionTokens,
      cachedTokens: 0,
      cacheWriteTokens: 0,
      reasoningTokens: 0,
      audioPromptTokens: 0,
      audioCompletionTokens: 0,
      provenance: 'estimated' as const,
    };
    const prices = managedLanePrices(endpoint.provider) === 'batch' ? endpoint.batchPricing : endpoint.pricing;
    const perRequest = (prices.request ?? 0n) * BigInt(Math.max(0, this.lines - 1));
    return priceUsage(prices, usage).totalCost + perRequest / RATE_PER_PICO_USD;
  }
}
