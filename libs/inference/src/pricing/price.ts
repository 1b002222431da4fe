import type { ToolCosts } from './tool-costs';
import type { ProviderTool, ToolUses } from './tool-uses';
import type { Usage } from './usage';
import { charge, checkedCount } from './charge';
import type { PicoUsd, Rate } from './money';

/**
 * The prices of one endpoint. Rates are per token unless the name says otherwise; the catalogue uses the same names in
 * snake_case. `priceUsage` documents which rates replace absent optional ones.
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
  /** Prompt tokens of sound that were read from a cache. */
  readonly inputAudioCache?: Rate;
  /** Image tokens among the prompt tokens. */
  readonly imageToken?: Rate;
  /** Video tokens among the prompt tokens. */
  readonly videoToken?: Rate;
  /** Audio among the completion tokens. */
  readonly audioOutput?: Rate;
  /** Image tokens among the completion tokens. */
  readonly imageOutputToken?: Rate;
  /** Reasoning among the completion tokens. */
  readonly internalReasoning?: Rate;
  /** Per request to the provider. */
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
  /** Per second of transcribed sound, in addition to the basic rate, by the request option that costs more. */
  readonly audioOptions?: Readonly<Record<string, Rate>>;
  /** Per video. */
  readonly video?: Rate;
  /** Per second of video at a resolution that is not in `videoSecondByResolution`. */
  readonly videoSecond?: Rate;
  /** Per second of video by resolution in lower case, e.g. `1080p`. */
  readonly videoSecondByResolution?: Readonly<Record<string, Rate>>;
  /** Other rates for long prompts or at some hours; `pricesFor` applies them. */
  readonly overrides?: readonly PriceOverride[];
}

/** Whether a call is charged at the endpoint's normal or its batch prices. */
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

/** Other rates of an endpoint, for requests that meet all of the given conditions. */
export interface PriceOverride {
  /** The prompt has at least this many tokens, including cached ones. */
  readonly minPromptTokens?: number;
  /** The call begins at or after this time of the UTC day, in hours. Used together with `utcEnd`. */
  readonly utcStart?: number;
  /** The call begins before this time, in hours. If it is not above `utcStart`, it is a time of the next day. */
  readonly utcEnd?: number;
  readonly rates: Readonly<Partial<Pick<PriceList, OverriddenRate>>>;
}

/** What a call used in addition to plain tokens. Whole numbers, at least 0; an absent field is 0. */
export interface BilledUnits {
  /** The part of `usage.cacheWriteTokens` that was written to a one-hour cache. */
  readonly cacheWrite1hTokens?: number;
  /** The part of `usage.promptTokens` that is image tokens, neither cached nor audio. */
  readonly imageTokens?: number;
  /** The part of `usage.cachedTokens` that is audio, if the provider counts it. */
  readonly cachedAudioTokens?: number;
  readonly images?: number;
  /** Requests to the provider; 1 if absent. */
  readonly requests?: number;
  readonly outputImages?: number;
  readonly webSearches?: number;
  /** Other tools that the provider ran. */
  readonly tools?: ToolUses | undefined;
  /** Model turns after free tool uses and compactions. They cost nothing, but explain a larger number of tokens. */
  readonly otherTurns?: number;
  readonly audioMs?: number;
  /** Names of `PriceList.audioOptions` that were in use. */
  readonly audioOptions?: readonly string[];
  readonly videos?: number;
  readonly videoMs?: number;
  /** Selects the rate per second of video; upper or lower case. */
  readonly videoResolution?: string;
}

export interface Cost {
  /** The amount that the caller is charged. */
  readonly totalCost: PicoUsd;
  /** The input's share: prompt tokens, the request itself, images, audio seconds, provider tools. */
  readonly promptCost: PicoUsd;
  /** The output's share. The list price is the sum of both shares. */
  readonly completionCost: PicoUsd;
  /** What the provider charges the owner of a caller's own key, by its list price; absent without such a key. */
  readonly upstreamCost?: PicoUsd;
  /** The part of `totalCost` that is our fee for the use of a caller's own key. */
  readonly byokFee?: PicoUsd;
  /** The part of the list price for each tool that the provider ran; absent if no tool cost anything. */
  readonly toolCosts?: ToolCosts;
  /** Prompt tokens that were charged as written to a one-hour cache; absent if there were none. */
  readonly cacheWrite1hTokens?: number;
  /** How much a prompt cache reduced the list price; negative if it increased it; absent if neither. */
  readonly cacheDiscount?: PicoUsd;
}

/** Rates are in 10^-18 USD and durations in milliseconds, so sums are kept in 10^-21 USD. */
const PER_UNIT = 1_000n;
const ATTO_MILLIS_PER_PICO = 1_000_000_000n;
const HALF_A_PICO = ATTO_MILLIS_PER_PICO / 2n;

/**
 * Returns the exact price of one call at these rates. Overrides of the price list are applied before, by `pricesFor`.
 *
 * Every count is multiplied by its rate and added without loss. The sum is rounded **once**, half up to the
 * pico-dollar. `promptCost` is the rounded input part and `completionCost` the rest, so both always add up to
 * `totalCost`.
 *
 * Each token is charged in exactly one class. Of the prompt: cache writes (one-hour writes at `hourWriteRate`, others
 * at `inputCacheWrite`, else `prompt`), audio (`audio`, else `prompt`), cached text (`inputCacheRead`, else `prompt`),
 * images (`imageToken`, else `prompt`), video (`videoToken`, else `prompt`), text. `cachedAudioTokens` of the cached tokens count as audio. The other cached
 * tokens count as text as far as the prompt has text, and the rest as audio (`inputAudioCache`, else `inputCacheRead`,
 * else `audio`). Of the completion: audio (`audioOutput`, else `completion`), images (`imageOutputToken`, else
 * `completion`), reasoning (`internalReasoning`, else `completion`), text. A class that is larger than the remaining
 * tokens is reduced to them, so no token is charged twice.
 *
 * Throws `unmapped` for a count that is not an integer of at least 0: such a usage cannot be priced.
 */
export function priceUsage(prices: PriceList, usage: Usage, units: BilledUnits = {}): Cost {
  const input = inputTokens(prices, usage, units) + inputUnits(prices, units);
  const output = outputTokens(prices, usage) + outputUnits(prices, units);
  const [totalCost, promptCost] = [roundHalfUp(input + output), roundHalfUp(input)];
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
  const video = rest.take(usage.videoPromptTokens);

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
      charge(video, prices.videoToken ?? prompt) +
      charge(rest.left, prompt))
  );
}

/**
 * Returns the rate of a token that is cached for an hour; by default 1.6 times the rate of other cache writes:
 * providers charge twice the prompt rate for an hour, and 1.25 times it for five minutes.
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
  const whole =
    charge(units.requests ?? 1, prices.request) + charge(units.images, prices.image) + toolRates(prices, units);
  return PER_UNIT * whole + charge(units.audioMs, audioSecondRate(prices, units));
}

/** A second of sound with its options. */
function audioSecondRate(prices: PriceList, { audioOptions = [] }: BilledUnits): Rate {
  return audioOptions.reduce((sum, name) => sum + (audioOptionRate(prices, name) ?? 0n), prices.audioSecond ?? 0n);
}

/** Returns the additional price of a second with an option; undefined for an option without a price. */
export function audioOptionRate({ audioOptions = {} }: PriceList, option: string): Rate | undefined {
  return Object.hasOwn(audioOptions, option) ? audioOptions[option] : undefined;
}

/** Returns the price of one use of a provider's tool; undefined for a tool without a price. */
export function toolRate({ webSearch, tools = {} }: PriceList, tool: ProviderTool): Rate | undefined {
  return tool === 'web_search' ? webSearch : Object.hasOwn(tools, tool) ? tools[tool] : undefined;
}

/** Returns the cost of the provider's tools, at full precision. */
function toolRates(prices: PriceList, { webSearches, tools }: BilledUnits): bigint {
  let sum = charge(webSearches, prices.webSearch);
  for (const [tool, count] of tools ?? []) sum += charge(count, toolRate(prices, tool));
  return sum;
}

/** Returns the cost of each provider tool, each rounded separately; undefined if none cost anything. */
function costsOfTools(prices: PriceList, { webSearches = 0, tools }: BilledUnits): ToolCosts | undefined {
  if (webSearches === 0 && tools === undefined) return undefined;
  const rates = new Map([['web_search', charge(webSearches, prices.webSearch)]]);
  for (const [tool, count] of tools ?? []) {
    rates.set(tool, (rates.get(tool) ?? 0n) + charge(count, toolRate(prices, tool)));
  }
  const costs = [...rates].map(([tool, rate]) => [tool, roundHalfUp(PER_UNIT * rate)] as const);
  const above = new Map(costs.filter(([, cost]) => cost !== 0n));
  return above.size === 0 ? undefined : above;
}

function outputUnits(prices: PriceList, units: BilledUnits): bigint {
  const whole = charge(picturesSold(prices, units), prices.imageOutput) + charge(units.videos, prices.video);
  return PER_UNIT * whole + charge(units.videoMs, videoSecondRate(prices, units.videoResolution));
}

/** Returns the pictures to charge. One that a tool made counts as a tool use, or else as a picture, shown or not. */
function picturesSold(prices: PriceList, { outputImages = 0, tools }: BilledUnits): number {
  const made = tools?.get(PICTURE_TOOL) ?? 0;
  const isToolSold = toolRate(prices, PICTURE_TOOL) !== undefined;
  return isToolSold ? Math.max(0, outputImages - made) : Math.max(outputImages, made);
}

const PICTURE_TOOL: ProviderTool = 'image_generation';

/** Returns the rate per second of a resolution, else the general one, else the highest, so that none is free. */
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

/** A total that is divided into parts; no part exceeds the remainder. */
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
