import type { ProviderTool } from './tool-uses';
import type { CacheWrite, PromptKinds } from './prompt-kinds';
import { charge } from './charge';
import { reservedAmount, type PicoUsd, type Rate } from './money';
import { toolRate, type PriceList } from './price';

/** Uses of each tool of the provider that are reserved for one call, and pictures for one answer sold by the picture. */
export const HELD_USES = 4;

/** What one call, or several of one price list, may use. */
export interface ExpectedUse {
  readonly promptTokens: number;
  /** What of the prompt has rates of its own. */
  readonly kinds?: PromptKinds | null;
  /** The provider writes to its prompt cache unasked. */
  readonly cachesUnasked?: boolean;
  readonly completionTokens: number;
  /** Answers that may hold pictures; 0 when absent. */
  readonly answers?: number;
  /** Requests; 1 when absent. */
  readonly calls?: number;
  /** That the provider may run. */
  readonly tools?: readonly ProviderTool[];
}

/**
 * Returns what such calls are charged at most at these rates: each token is priced at the dearest rate that its kind
 * may meet, whatever a cache holds and an answer is made of. Rounded up, so never below what `priceUsage` says.
 */
export function priceExpected(prices: PriceList, expected: ExpectedUse): PicoUsd {
  const { promptTokens, kinds = null, completionTokens, answers = 0, calls = 1, tools = NO_TOOLS } = expected;
  const write = kinds?.cacheWrite ?? (expected.cachesUnasked === true ? '5m' : null);
  const text = dearest(prices.prompt, prices.inputCacheRead, writeRate(prices, write));
  let sum = charge(promptTokens, text) + charge(completionTokens, dearestCompletion(prices));
  sum += charge(calls, prices.request) + charge(answers * HELD_USES, prices.imageOutput);
  if (kinds !== null) sum += kindsBeyondText(prices, kinds, { promptTokens, text });
  for (const tool of tools) sum += charge(calls * HELD_USES, toolRate(prices, tool));
  return reservedAmount(sum);
}

const NO_TOOLS: readonly ProviderTool[] = [];

/** Returns the highest rate that a token of an answer may cost: of text, thought, sound or a picture. */
export function dearestCompletion({ completion, audioOutput, imageOutputToken, internalReasoning }: PriceList): Rate {
  return dearest(completion, audioOutput, imageOutputToken, internalReasoning);
}

/** What sound and pictures cost more than text does. */
function kindsBeyondText(
  prices: PriceList,
  { audioTokens, imageTokens, images }: PromptKinds,
  { promptTokens, text }: { readonly promptTokens: number; readonly text: Rate },
): bigint {
  const audio = dearest(text, prices.audio, prices.inputAudioCache) - text;
  const image = dearest(text, prices.imageToken) - text;
  return (
    charge(Math.min(audioTokens, promptTokens), audio) +
    charge(Math.min(imageTokens, promptTokens), image) +
    charge(images, prices.image)
  );
}

function writeRate({ prompt, inputCacheWrite, inputCacheWrite1h }: PriceList, write: CacheWrite | null): Rate {
  if (write === null) return prompt;
  // Marks of several times may stand in one request, and a provider may keep all for the shorter.
  return write === '5m' ? (inputCacheWrite ?? prompt) : dearest(inputCacheWrite ?? prompt, inputCacheWrite1h);
}

function dearest(first: Rate, ...others: readonly (Rate | undefined)[]): Rate {
  return others.reduce<Rate>((most, rate) => (rate !== undefined && rate > most ? rate : most), first);
}
