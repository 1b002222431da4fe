import { findProvider, type ModelInfo, type ModelPrice, type TieredPrices } from '@pydantic/genai-prices';

/** Prices of the installed data set, as decimal strings under the names of the catalogue. */
export interface PricedModel {
  readonly pricing: Readonly<Record<string, string>>;
  readonly contextLength: number | undefined;
}

/** Catalogue names of the data's price keys, and how many units one price there stands for. */
const MEMBERS: Readonly<Record<string, readonly [member: string, per: bigint]>> = {
  input_mtok: ['prompt', 1_000_000n],
  output_mtok: ['completion', 1_000_000n],
  cache_read_mtok: ['input_cache_read', 1_000_000n],
  cache_write_mtok: ['input_cache_write', 1_000_000n],
  cache_write_1h_mtok: ['input_cache_write_1h', 1_000_000n],
  input_audio_mtok: ['audio', 1_000_000n],
  cache_audio_read_mtok: ['input_audio_cache', 1_000_000n],
  input_image_mtok: ['image_token', 1_000_000n],
  output_audio_mtok: ['audio_output', 1_000_000n],
  output_reasoning_mtok: ['internal_reasoning', 1_000_000n],
  requests_kcount: ['request', 1_000n],
  web_searches_kcount: ['web_search', 1_000n],
  audio_hours: ['audio_second', 3_600n],
};

/**
 * The prices of a model on a day. Of tiered prices the base is taken. A provider that charges by the hour of
 * the day is listed at its dearest hour, so that no hour costs more than the caller was told.
 */
export function findPrices(source: string, id: string, day: string): PricedModel {
  const model = findProvider({ providerId: source })?.models.find((candidate) => candidate.id === id);
  if (!model) throw new Error(`the price data has no ${id} of ${source}`);
  if (model.deprecated) throw new Error(`${id} of ${source} is deprecated`);
  const prices = pricesOn(model, day);
  const pricing: Record<string, string> = {};
  for (const [key, [member, per]] of Object.entries(MEMBERS)) {
    const price = prices[key];
    if (price !== undefined) pricing[member] = rateText(base(price), per);
  }
  return { pricing, contextLength: model.context_window };
}

/**
 * A price for `per` units as a decimal string per unit. The number is read as the shortest decimal that
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

function pricesOn(model: ModelInfo, day: string): ModelPrice {
  if (!Array.isArray(model.prices)) return model.prices;
  const hourly = model.prices.filter(({ constraint }) => constraint?.type === 'time_of_date');
  const dated = model.prices.filter(({ constraint }) => constraint?.type !== 'time_of_date');
  const inForce = dated.findLast(
    ({ constraint }) => !constraint || ('start_date' in constraint && constraint.start_date <= day),
  );
  const all = [...hourly, ...(inForce ? [inForce] : [])].map(({ prices }) => prices);
  const [first, ...others] = all;
  if (!first) throw new Error(`${model.id} has no price on ${day}`);
  return others.reduce((dearest, prices) => (dearness(prices) > dearness(dearest) ? prices : dearest), first);
}

function dearness(prices: ModelPrice): number {
  return base(prices['input_mtok'] ?? 0) + base(prices['output_mtok'] ?? 0);
}

function base(price: number | TieredPrices): number {
  return typeof price === 'number' ? price : price.base;
}
