import type { ToolCosts } from './tool-costs';
import type { ProviderTool, ToolUses } from './tool-uses';
import type { Usage } from './usage';
import { charge, checkedCount } from './charge';
import type { PicoUsd, Rate } from './money';

/**
 * What one endpoint charges. Rates are per token unless the name says otherwise; the catalogue's names are
 * the same in snake_case. For the fallbacks of absent optional rates, see `priceUsage`.
 */
export interface PriceList {
  readonly prompt: Rate;
  readonly completion: Rate;
  readonly inputCacheRead?: Rate;
  readonly inputCacheWrite?: Rate;
  /** Prompt tokens written to a cache that lives for one hour. */
  readonly inputCacheWrite1h?: Rate;
  /** Audio among the prompt tokens. */
  readonly audio?: Rate;
  /** Audio among the prompt tokens that was read from a cache. */
  readonly inputAudioCache?: Rate;
  /** Image tokens among the prompt tokens. */
  readonly imageToken?: Rate;
  /** Audio among the completion tokens. */
  readonly audioOutput?: Rate;
  /** Image tokens among the completion tokens. */
  readonly imageOutputToken?: Rate;
  /** Reasoning among the completion tokens. */
  readonly internalReasoning?: Rate;
  /** Per request, once. */
  readonly request?: Rate;
  /** Per image of the prompt. */
  readonly image?: Rate;
  /** Per image of the answer. */
  readonly imageOutput?: Rate;
  /** Per web search the provider ran. */
  readonly webSearch?: Rate;
  /** Per use of another tool that the provider runs. */
  readonly tools?: Readonly<Record<ProviderTool, Rate>>;
  /** Per second of transcribed audio. */
  readonly audioSecond?: Rate;
  /** Per second of transcribed audio on top of that, by the option of the request that the provider charges for. */
  readonly audioOptions?: Readonly<Record<string, Rate>>;
  /** Per video. */
  readonly video?: Rate;
  /** Per second of video at a resolution that `videoSecondByResolution` does not name. */
  readonly videoSecond?: Rate;
  /** Per second of video by resolution in lower case, e.g. `1080p`. */
  readonly videoSecondByResolution?: Readonly<Record<string, Rate>>;
  /** Other rates for long prompts or at some hours; `pricesFor` applies them. */
  readonly overrides?: readonly PriceOverride[];
}

/** Whether a call is charged at the endpoint's ordinary or its batch prices. */
export type PriceListName = 'standard' | 'batch';

/** Rates that an override can replace. */
export type OverriddenRate =
  | 'prompt'
  | 'completion'
  | 'audio'
  | 'inputAudioCache'
  | 'inputCacheRead'
  | 'inputCacheWrite'
  | 'inputCacheWrite1h'
  | 'imageToken';

/** Other rates of an endpoint for some requests: those that meet every condition that is given. */
export interface PriceOverride {
  /** The prompt has at least so many tokens, cached ones included. */
  readonly minPromptTokens?: number;
  /** The call begins at this time of the UTC day or later, in hours; with `utcEnd`. */
  readonly utcStart?: number;
  /** The call begins before this time, in hours. At or below `utcStart` it is one of the next day. */
  readonly utcEnd?: number;
  readonly rates: Readonly<Partial<Pick<PriceList, OverriddenRate>>>;
}

/** What a call used in addition to plain tokens. Whole numbers, at least 0; an absent field is 0. */
export interface BilledUnits {
  /** One-hour cache writes among `usage.cacheWriteTokens`. */
  readonly cacheWrite1hTokens?: number;
  /** Image tokens among `usage.promptTokens`, neither cached nor audio. */
  readonly imageTokens?: number;
  /** Audio among `usage.cachedTokens`, where the provider counts it. */
  readonly cachedAudioTokens?: number;
  readonly images?: number;
  readonly outputImages?: number;
  readonly webSearches?: number;
  /** Other tools that the provider ran. */
  readonly tools?: ToolUses | undefined;
  /** Turns of the model after uses of tools that are not charged, and compactions: no charge, but room for tokens. */
  readonly otherTurns?: number;
  readonly audioMs?: number;
  /** Names of `PriceList.audioOptions` that were in use. */
  readonly audioOptions?: readonly string[];
  readonly videos?: number;
  readonly videoMs?: number;
  /** Picks the rate per video second; any case. */
  readonly videoResolution?: string;
}

export interface Cost {
  /** What the caller is charged. */
  readonly totalCost: PicoUsd;
  /** The input's part: prompt tokens, the request itself, images, audio seconds, tools of the provider. */
  readonly promptCost: PicoUsd;
  /** The output's part; the two together are the list price. */
  readonly completionCost: PicoUsd;
  /** What the provider charges the owner of the key, by its list price; only where that was a caller's own. */
  readonly upstreamCost?: PicoUsd;
  /** The part of `totalCost` that is our fee for that. */
  readonly byokFee?: PicoUsd;
  /** The part of the list price for each tool that the provider ran; absent where it ran none that cost. */
  readonly toolCosts?: ToolCosts;
  /** Prompt tokens that were charged as written to a cache for one hour; absent where there were none. */
  readonly cacheWrite1hTokens?: number;
  /** What a prompt cache took off the list price, below zero where it added to it; absent where it did neither. */
  readonly cacheDiscount?: PicoUsd;
}

/** Rates are 10^-18 USD; durations come in milliseconds, so sums are kept in 10^-21 USD. */
const PER_UNIT = 1_000n;
const ATTO_MILLIS_PER_PICO = 1_000_000_000n;
const HALF_A_PICO = ATTO_MILLIS_PER_PICO / 2n;

/**
 * The exact price of one call at these rates; overrides of the list are the business of `pricesFor`.
 *
 * Every count is multiplied by its rate and summed without loss; the sum is rounded **once**, half up to the
 * pico-dollar. `promptCost` is the rounded input part and `completionCost` the rest, so the two always add
 * up to `totalCost`.
 *
 * Tokens are charged in one class each. Of the prompt: cache writes (those of an hour at `hourWriteRate`, others at
 * `inputCacheWrite`, else `prompt`), audio (`audio`, else `prompt`), cached text (`inputCacheRead`, else
 * `prompt`), images (`imageToken`, else `prompt`), text. Cached tokens are audio as far as
 * `cachedAudioTokens` says so. Others are taken for text as far as there is text, the rest for audio (`inputAudioCache`,
 * else `inputCacheRead`, else `audio`). Of the completion: audio (`audioOutput`, else `completion`),
 * images (`imageOutputToken`, else `completion`), reasoning (`internalReasoning`, else `completion`), text. A class larger than what is left of its whole is
 * cut to it, so no token is charged twice.
 *
 * Throws `unmapped` for a count that is no integer of at least 0: such a usage cannot be priced.
 */
export function priceUsage(prices: PriceList, usage: Usage, units: BilledUnits = {}): Cost {
  const input = inputTokens(prices, usage, units) + inputUnits(prices, units);
  const output = outputTokens(prices, usage) + outputUnits(prices, units);
  const totalCost = roundHalfUp(input + output);
  const promptCost = roundHalfUp(input);
  const toolCosts = costsOfTools(prices, units);
  const cacheWrite1hTokens = Math.min(units.cacheWrite1hTokens ?? 0, usage.cacheWriteTokens);
  return {
    totalCost,
    promptCost,
    completionCost: totalCost - promptCost,
    ...(toolCosts !== undefined && { toolCosts }),
    ...(cacheWrite1hTokens > 0 && { cacheWrite1hTokens }),
  };
}

function inputTokens(prices: PriceList, usage: Usage, units: BilledUnits): bigint {
  const rest = new Remainder(usage.promptTokens);
  const cacheWrites = rest.take(usage.cacheWriteTokens);
  const writes = new Remainder(cacheWrites);
  const hourWrites = writes.take(units.cacheWrite1hTokens);
  const audio = rest.take(usage.audioPromptTokens);
  const cached = new Remainder(usage.cachedTokens);
  const audioRest = new Remainder(audio);
  const saidAudio = audioRest.take(cached.take(Math.min(units.cachedAudioTokens ?? 0, audio)));
  const cachedText = rest.take(cached.take(rest.left));
  const cachedAudio = saidAudio + audioRest.take(cached.left);
  const images = rest.take(units.imageTokens);

  const { prompt } = prices;
  const audioRate = prices.audio ?? prompt;
  const writeRate = prices.inputCacheWrite ?? prompt;
  return (
    PER_UNIT *
    (charge(hourWrites, hourWriteRate(prices)) +
      charge(writes.left, writeRate) +
      charge(cachedText, prices.inputCacheRead ?? prompt) +
      charge(cachedAudio, prices.inputAudioCache ?? prices.inputCacheRead ?? audioRate) +
      charge(audioRest.left, audioRate) +
      charge(images, prices.imageToken ?? prompt) +
      charge(rest.left, prompt))
  );
}

/**
 * Returns the rate of a token that is cached for an hour. Without a rate of its own it is 1.6 times the rate of other
 * writes: providers charge twice the rate of the prompt for an hour, and 1.25 times it for five minutes.
 */
export function hourWriteRate({ prompt, inputCacheWrite, inputCacheWrite1h }: PriceList): Rate {
  return inputCacheWrite1h ?? (inputCacheWrite === undefined ? prompt : (inputCacheWrite * 8n + 4n) / 5n);
}

function outputTokens(prices: PriceList, usage: Usage): bigint {
  const rest = new Remainder(usage.completionTokens);
  const audio = rest.take(usage.audioCompletionTokens);
  const images = rest.take(usage.imageCompletionTokens);
  const reasoning = rest.take(usage.reasoningTokens);
  return (
    PER_UNIT *
    (charge(audio, prices.audioOutput ?? prices.completion) +
      charge(images, prices.imageOutputToken ?? prices.completion) +
      charge(reasoning, prices.internalReasoning ?? prices.completion) +
      charge(rest.left, prices.completion))
  );
}

function inputUnits(prices: PriceList, units: BilledUnits): bigint {
  const whole = (prices.request ?? 0n) + charge(units.images, prices.image) + toolRates(prices, units);
  return PER_UNIT * whole + charge(units.audioMs, audioSecondRate(prices, units));
}

/** A second of sound with its options. */
function audioSecondRate(prices: PriceList, { audioOptions = [] }: BilledUnits): Rate {
  const plain = prices.audioSecond ?? 0n;
  return audioOptions.reduce((sum, option) => sum + (audioOptionRate(prices, option) ?? 0n), plain);
}

/** Returns what a second costs more with an option; undefined for one without a price. */
export function audioOptionRate({ audioOptions = {} }: PriceList, option: string): Rate | undefined {
  return Object.hasOwn(audioOptions, option) ? audioOptions[option] : undefined;
}

/** Returns what a use of a provider's tool costs; undefined for one without a price. */
export function toolRate({ webSearch, tools = {} }: PriceList, tool: ProviderTool): Rate | undefined {
  return tool === 'web_search' ? webSearch : Object.hasOwn(tools, tool) ? tools[tool] : undefined;
}

/** What tools of the provider cost, at full precision. */
function toolRates(prices: PriceList, { webSearches, tools }: BilledUnits): bigint {
  let sum = charge(webSearches, prices.webSearch);
  for (const [tool, count] of tools ?? []) sum += charge(count, toolRate(prices, tool));
  return sum;
}

/** What each tool of the provider cost, rounded for itself; undefined where none cost anything. */
function costsOfTools(prices: PriceList, { webSearches = 0, tools }: BilledUnits): ToolCosts | undefined {
  if (webSearches === 0 && tools === undefined) return undefined;
  const rates = new Map([['web_search', charge(webSearches, prices.webSearch)]]);
  for (const [tool, count] of tools ?? []) {
    rates.set(tool, (rates.get(tool) ?? 0n) + charge(count, toolRate(prices, tool)));
  }
  const costs = [...rates].map(([tool, rate]) => [tool, roundHalfUp(PER_UNIT * rate)] as const);
  const above = costs.filter(([, cost]) => cost !== 0n);
  return above.length === 0 ? undefined : new Map(above);
}

function outputUnits(prices: PriceList, units: BilledUnits): bigint {
  const whole = charge(picturesSold(prices, units), prices.imageOutput) + charge(units.videos, prices.video);
  return PER_UNIT * whole + charge(units.videoMs, videoSecondRate(prices, units.videoResolution));
}

/** A picture that a tool made is charged as a use of the tool, or else as a picture, whether its answer shows it or not. */
function picturesSold(prices: PriceList, { outputImages = 0, tools }: BilledUnits): number {
  const made = tools?.get(PICTURE_TOOL) ?? 0;
  const isToolSold = toolRate(prices, PICTURE_TOOL) !== undefined;
  return isToolSold ? Math.max(0, outputImages - made) : Math.max(outputImages, made);
}

const PICTURE_TOOL: ProviderTool = 'image_generation';

/**
 * The rate per second of video at a resolution: the one listed for it, else the general one, else the
 * dearest of those listed, so that a resolution the list does not know is never free.
 */
export function videoSecondRate(prices: PriceList, resolution: string | undefined): Rate | undefined {
  const byResolution = prices.videoSecondByResolution ?? {};
  const key = resolution?.toLowerCase();
  if (key !== undefined && Object.hasOwn(byResolution, key)) return byResolution[key];
  if (prices.videoSecond !== undefined) return prices.videoSecond;
  return Object.values(byResolution).reduce<Rate | undefined>(
    (dearest, rate) => (dearest === undefined || rate > dearest ? rate : dearest),
    undefined,
  );
}

/** A whole that is handed out part by part; a part never exceeds what is left. */
class Remainder {
  left: number;

  constructor(whole: number) {
    this.left = checkedCount(whole);
  }

  take(wanted = 0): number {
    const taken = Math.min(checkedCount(wanted), this.left);
    this.left -= taken;
    return taken;
  }
}

function roundHalfUp(attoMillis: bigint): PicoUsd {
  return (attoMillis + HALF_A_PICO) / ATTO_MILLIS_PER_PICO;
}
