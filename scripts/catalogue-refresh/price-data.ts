import { isDeepStrictEqual } from 'node:util';
import { findProvider, type ModelInfo, type ModelPrice, type TieredPrices } from '@pydantic/genai-prices';

/** Prices of the installed data set, as decimal strings under the names of the catalogue. */
export interface PricedModel {
  readonly pricing: Pricing;
  /** `tool_pricing` of a catalogue file. */
  readonly tools?: Readonly<Record<string, string>>;
  readonly contextLength: number | undefined;
}

/** `pricing` of a catalogue file. */
export type Pricing = Readonly<Record<string, string | readonly Override[]>>;

type Override = Readonly<Record<string, string | number>>;

/** Catalogue names of the data's price keys, and the number of units that one price is for. */
const MEMBERS: Readonly<Record<string, readonly [member: string, per: bigint]>> = {
  input_mtok: ['prompt', 1_000_000n],
  output_mtok: ['completion', 1_000_000n],
  cache_read_mtok: ['input_cache_read', 1_000_000n],
  cache_write_mtok: ['input_cache_write', 1_000_000n],
  cache_write_1h_mtok: ['input_cache_write_1h', 1_000_000n],
  input_audio_mtok: ['audio', 1_000_000n],
  cache_audio_read_mtok: ['input_audio_cache', 1_000_000n],
  input_image_mtok: ['image_token', 1_000_000n],
  input_video_mtok: ['video_token', 1_000_000n],
  output_audio_mtok: ['audio_output', 1_000_000n],
  output_image_mtok: ['image_output_token', 1_000_000n],
  output_reasoning_mtok: ['internal_reasoning', 1_000_000n],
  requests_kcount: ['request', 1_000n],
  web_searches_kcount: ['web_search', 1_000n],
  audio_hours: ['audio_second', 3_600n],
};
/** Prices of the tools that providers run. */
const TOOLS: Readonly<Record<string, readonly [tool: string, per: bigint]>> = {
  storage_searches_kcount: ['file_search', 1_000n],
};
/** Prices that repeat another one of the same model, by that one. Calls count their units in the other's. */
const REPEATED: Readonly<Record<string, string>> = {
  input_audio_hours: 'audio_hours',
  output_citation_mtok: 'input_mtok',
};
const MEMBER_NAMES: ReadonlySet<string> = new Set(Object.values(MEMBERS).map(([member]) => member));

/** Rates that the catalogue can override. */
const OVERRIDABLE: ReadonlySet<string> = new Set([
  'prompt',
  'completion',
  'audio',
  'input_audio_cache',
  'input_cache_read',
  'input_cache_write',
  'input_cache_write_1h',
  'image_token',
]);

/** The prices of a model on a day, with overrides for long prompts and for the hours that have other prices. */
export function findPrices(source: string, id: string, day: string): PricedModel {
  const model = findProvider({ providerId: source })?.models.find((candidate) => candidate.id === id);
  if (!model) throw new Error(`the price data has no ${id} of ${source}`);
  if (model.deprecated) throw new Error(`${id} of ${source} is deprecated`);
  const { usual, hourly } = pricesOn(model, day);
  for (const prices of [usual, ...hourly.map((one) => one.prices)]) refuseUnknown(id, prices);
  const rates = ratesOf(usual, base);
  const overrides = [...longPromptOverrides(usual), ...hourly.map(hourlyOverride)];
  for (const name of overrides.flatMap((one) => Object.keys(one))) {
    if (MEMBER_NAMES.has(name) && !OVERRIDABLE.has(name)) throw new Error(`${id}: ${name} cannot be overridden`);
  }
  const pricing = overrides.length === 0 ? rates : { ...rates, overrides };
  return { pricing, tools: ratesOf(usual, base, TOOLS), contextLength: model.context_window };
}

/** A price without a name in the catalogue would not be charged. */
function refuseUnknown(id: string, prices: ModelPrice): void {
  for (const [key, price] of Object.entries(prices)) {
    if (key in MEMBERS || key in TOOLS) continue;
    const other = REPEATED[key];
    if (other === undefined || !isDeepStrictEqual(price, prices[other])) {
      throw new Error(`${id}: ${key} has no name here`);
    }
  }
}

/**
 * Returns the price for `per` units as a decimal string per unit. The number is read as the shortest decimal that
 * denotes it, which is what its author wrote; the division is exact, or rounded half up at 18 decimals.
 */
export function rateText(price: number | string, per: bigint): string {
  const match = /^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(price));
  if (!match) throw new Error('a price must be a decimal number of at least 0');
  const [, whole = '', fraction = '', exponent = '0'] = match;
  const decimals = fraction.length - Number(exponent);
  const scale = 18 - decimals;
  const digits = BigInt(whole + fraction);
  const dividend = scale >= 0 ? digits * 10n ** BigInt(scale) : digits;
  const divisor = scale >= 0 ? per : per * 10n ** BigInt(-scale);
  const text = ((2n * dividend + divisor) / (2n * divisor)).toString().padStart(19, '0');
  const rest = text.slice(-18).replace(/0+$/, '');
  return text.slice(0, -18) + (rest && `.${rest}`);
}

interface HourlyPrices {
  readonly start: string;
  readonly end: string;
  readonly prices: ModelPrice;
}

/** If only certain hours have prices, the most expensive of them is the normal one, so that no hour is too cheap. */
function pricesOn(model: ModelInfo, day: string): { usual: ModelPrice; hourly: readonly HourlyPrices[] } {
  if (!Array.isArray(model.prices)) return { usual: model.prices, hourly: [] };
  const hourly: HourlyPrices[] = [];
  let usual: ModelPrice | undefined;
  for (const { constraint, prices } of model.prices) {
    if (constraint?.type === 'time_of_date') {
      hourly.push({ start: constraint.start_time, end: constraint.end_time, prices });
    } else if (!constraint || constraint.start_date <= day) usual = prices;
  }
  usual ??= dearest(hourly.map(({ prices }) => prices));
  if (!usual) throw new Error(`${model.id} has no price on ${day}`);
  return { usual, hourly };
}

function dearest(all: readonly ModelPrice[]): ModelPrice | undefined {
  return all.toSorted((one, other) => dearness(other) - dearness(one))[0];
}

function dearness(prices: ModelPrice): number {
  return base(prices['input_mtok'] ?? 0) + base(prices['output_mtok'] ?? 0);
}

function ratesOf(
  prices: ModelPrice,
  rateOf: (price: number | TieredPrices) => number | undefined,
  names = MEMBERS,
): Record<string, string> {
  const rates: Record<string, string> = {};
  for (const [key, [member, per]] of Object.entries(names)) {
    const price = prices[key];
    const rate = price === undefined ? undefined : rateOf(price);
    if (rate !== undefined) rates[member] = rateText(rate, per);
  }
  return rates;
}

/** In the data, a tier begins above `start` prompt tokens and applies to the whole request. */
function longPromptOverrides(prices: ModelPrice): Override[] {
  const starts = Object.values(prices).flatMap((price) => tiersOf(price).map(({ start }) => start));
  return [...new Set(starts)]
    .toSorted((one, other) => one - other)
    .map((start) => ({
      min_prompt_tokens: start + 1,
      ...ratesOf(prices, (price) => tiersOf(price).find((tier) => tier.start === start)?.price),
    }));
}

function hourlyOverride({ start, end, prices }: HourlyPrices): Override {
  if (longPromptOverrides(prices).length > 0) throw new Error('prices of an hour have prices for long prompts');
  return { utc_start: hourOf(start), utc_end: hourOf(end), ...ratesOf(prices, base) };
}

/** `16:30:00Z` is 16.5. */
function hourOf(time: string): number {
  const [hours = Number.NaN, minutes = Number.NaN] = time.replace('Z', '').split(':').map(Number);
  return hours + minutes / 60;
}

function base(price: number | TieredPrices): number {
  return typeof price === 'number' ? price : price.base;
}

function tiersOf(price: number | TieredPrices | undefined): TieredPrices['tiers'] {
  return typeof price === 'object' ? price.tiers : [];
}
