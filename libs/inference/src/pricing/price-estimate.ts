import { filmTokens, type CacheWrite, type PromptKinds } from './prompt-kinds';
import { charge } from './charge';
import { mostReads, possibleUses, tokensRead, type ReadingCall } from './inner-reads';
import { reservedAmount, type PicoUsd, type Rate } from './money';
import { hourWriteRate, toolRate, type PriceList } from './price';
import type { AllowedUses } from './tool-uses';

/** Pictures that are reserved for one answer of a model with a price per picture. */
export const HELD_PICTURES = 4;

/** The most that one call, or several calls with the same price list, may use. */
export interface ExpectedUse {
  readonly promptTokens: number;
  /** The parts of the prompt that have rates of their own. */
  readonly kinds?: PromptKinds | null;
  /** True if the provider writes to its prompt cache without being asked. */
  readonly cachesUnasked?: boolean;
  readonly completionTokens: number;
  /** Number of answers that may contain pictures; 0 if absent. */
  readonly answers?: number;
  /** Requests; 1 when absent. */
  readonly calls?: number;
  /** Tool uses that the provider may make for each of the calls. */
  readonly tools?: readonly AllowedUses[];
  /** Most tokens of the context; null or absent if unknown. */
  readonly contextLength?: number | null;
}

/**
 * Returns the most that such calls can be charged at these rates. Each token is priced at the highest rate that applies
 * to its kind, whatever the cache and the answer contain. Rounded up, so never below the result of `priceUsage`.
 */
export function priceExpected(prices: PriceList, expected: ExpectedUse): PicoUsd {
  const { kinds = null, answers = 0, calls = 1 } = expected;
  const tools = usesOf(expected);
  const reads = mostReads(tools);
  const promptTokens = promptTokensRead(expected);
  const written = tools.reduce((sum, { uses, tokensWritten = 0 }) => sum + uses * tokensWritten, 0);
  const completionTokens = expected.completionTokens + calls * written;
  const text = dearest(prices.prompt, prices.inputCacheRead, writeRate(prices, writeOf(expected, reads)));
  let sum = charge(promptTokens, text) + charge(completionTokens, dearestCompletion(prices));
  sum += charge(calls, prices.request) + charge(answers * HELD_PICTURES, prices.imageOutput);
  if (kinds !== null) sum += kindsBeyondText(prices, kinds, { promptTokens, reads, text });
  for (const { tools: names, uses } of tools) sum += charge(calls * uses, dearestTool(prices, names));
  return reservedAmount(sum);
}

const NO_TOOLS: readonly AllowedUses[] = [];

function usesOf(expected: ExpectedUse): readonly AllowedUses[] {
  const { tools = NO_TOOLS } = expected;
  return tools.length === 0 ? tools : possibleUses(meanCall(expected));
}

/** Returns one average call of several. */
function meanCall({ promptTokens, completionTokens, calls = 1, ...expected }: ExpectedUse): ReadingCall {
  const { tools = NO_TOOLS, contextLength = null } = expected;
  const mean = (tokens: number): number => (calls === 0 ? 0 : Math.ceil(tokens / calls));
  return { promptTokens: mean(promptTokens), completionTokens: mean(completionTokens), tools, contextLength };
}

/** A provider may cache the text that its model will read again. */
function writeOf({ kinds, cachesUnasked }: ExpectedUse, reads: number): CacheWrite | null {
  return kinds?.cacheWrite ?? (cachesUnasked === true || reads > 1 ? '5m' : null);
}

/**
 * Returns the most prompt tokens that such calls can be charged, including everything that their models read again
 * because of tools. Several calls count as equal average calls; that is never below their sum, because additional
 * tokens matter least in the longest calls.
 */
export function promptTokensRead(expected: ExpectedUse): number {
  const { promptTokens, calls = 1 } = expected;
  const tools = usesOf(expected);
  return tools.length === 0 || calls === 0 ? promptTokens : calls * tokensRead({ ...meanCall(expected), tools });
}

/** Returns the price of the most expensive of these tools, because any of them may be used. */
function dearestTool(prices: PriceList, names: AllowedUses['tools']): Rate {
  if (names === null) return dearest(0n, prices.webSearch, ...Object.values(prices.tools ?? {}));
  return names.reduce<Rate>((most, name) => dearest(most, toolRate(prices, name)), 0n);
}

/** Returns the highest rate that a token of an answer may cost: of text, thought, sound or a picture. */
export function dearestCompletion({ completion, audioOutput, imageOutputToken, internalReasoning }: PriceList): Rate {
  return dearest(completion, audioOutput, imageOutputToken, internalReasoning);
}

/** Returns how much more sound, films and pictures cost than text. */
function kindsBeyondText(
  prices: PriceList,
  { audioTokens, imageTokens, images }: PromptKinds,
  { promptTokens, reads, text }: { readonly promptTokens: number; readonly reads: number; readonly text: Rate },
): bigint {
  const audio = dearest(text, prices.audio, prices.inputAudioCache) - text;
  const video = dearest(text, prices.videoToken) - text;
  const image = dearest(text, prices.imageToken) - text;
  return (
    dearest(
      charge(Math.min(audioTokens * reads, promptTokens), audio),
      charge(Math.min(filmTokens(audioTokens) * reads, promptTokens), video),
    ) +
    charge(Math.min(imageTokens * reads, promptTokens), image) +
    charge(images, prices.image)
  );
}

function writeRate(prices: PriceList, write: CacheWrite | null): Rate {
  const { prompt, inputCacheWrite = prompt } = prices;
  if (write === null) return prompt;
  // One request may mark parts for several lifetimes, and a provider may cache all of them for the shorter one.
  return write === '5m' ? inputCacheWrite : dearest(inputCacheWrite, hourWriteRate(prices));
}

function dearest(first: Rate, ...others: readonly (Rate | undefined)[]): Rate {
  return others.reduce<Rate>((most, rate) => (rate !== undefined && rate > most ? rate : most), first);
}
