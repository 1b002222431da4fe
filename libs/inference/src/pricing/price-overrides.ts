import type { OverriddenRate, PriceList, PriceOverride } from './price';

const HOUR_MS = 3_600_000;
const DAY_HOURS = 24;

/**
 * Returns the rates of a whole call. Overrides apply in order: if two match, the later one counts.
 * @param promptTokens as the provider counted them
 * @param atMs when the call began, in milliseconds since the epoch
 */
export function pricesFor(prices: PriceList, promptTokens: number, atMs: number): PriceList {
  const { overrides } = prices;
  if (overrides === undefined) return prices;
  const matching = overrides.filter((one) => reaches(one, promptTokens) && isWithin(one, atMs));
  return matching.reduce<PriceList>((list, { rates }) => ({ ...list, ...rates }), prices);
}

/**
 * Returns the highest rates that a call can be charged, whenever it begins.
 * @param leastTokens fewest tokens of its prompt
 * @param mostTokens most tokens of its prompt, if they are only estimated
 */
export function highestPricesFor(prices: PriceList, leastTokens: number, mostTokens = leastTokens): PriceList {
  const { overrides } = prices;
  if (overrides === undefined) return prices;
  const isCertain = (one: PriceOverride): boolean => reaches(one, leastTokens) && !isTimed(one);
  return overrides
    .filter((one) => reaches(one, mostTokens))
    .reduce<PriceList>((list, one) => ({ ...list, ...(isCertain(one) ? one.rates : higher(list, one.rates)) }), prices);
}

function reaches({ minPromptTokens = 0 }: PriceOverride, promptTokens: number): boolean {
  return promptTokens >= minPromptTokens;
}

function isTimed({ utcStart }: PriceOverride): boolean {
  return utcStart !== undefined;
}

function isWithin({ utcStart, utcEnd }: PriceOverride, atMs: number): boolean {
  if (utcStart === undefined || utcEnd === undefined) return true;
  const hour = (atMs / HOUR_MS) % DAY_HOURS;
  return utcStart < utcEnd ? hour >= utcStart && hour < utcEnd : hour >= utcStart || hour < utcEnd;
}

function higher(list: PriceList, rates: PriceOverride['rates']): PriceOverride['rates'] {
  const raised: Partial<Record<OverriddenRate, bigint>> = {};
  for (const [name, rate] of Object.entries(rates) as [OverriddenRate, bigint][]) {
    const before = list[name];
    raised[name] = before === undefined || rate > before ? rate : before;
  }
  return raised;
}
