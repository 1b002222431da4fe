import { formatUsd, type PicoUsd } from '@libs/inference';
import type { ChargeDifference, ExplainedPart } from './charge-difference';
import type { PriceCell, ReportedCost, ReportedUsage } from './charge-facts';
import { NO_KEY, recordedCost, roundingOf, sum, type ChargeGroup, type CompareOptions } from './charge-group';
import type { PriceBook } from './price-book';
import { explainOpposedPrices, explainPrices, isWithin } from './price-causes';
import { isZero, type TokenCounts } from './token-counts';

/**
 * Returns the differences of single keys on one day and for one model: what each was charged minus the price of its
 * counts. Two keys that differ in opposite directions are both found.
 *
 * The record does not contain keys, so counts of one key cannot be compared with it. Prices can: a key is compared only
 * if the catalogue's prices for the recorded counts give the recorded cost, so a price that changed since is not a
 * difference of keys.
 */
export function compareKeys(group: ChargeGroup, { book, rounding }: CompareOptions): ChargeDifference[] {
  const { day, model, usage, costs } = group;
  // Grouped once: a file may have a hundred thousand keys.
  const costsByKey = Map.groupBy(costs, ({ key }) => key);
  const usageByKey = Map.groupBy(usage, ({ key }) => key);
  const isCounted = usage.some(({ tokens }) => !isZero(tokens));
  if (costsByKey.size < 2 || !isCounted || !isPricedAlike(group, { book, rounding })) return [];
  const differences = [...costsByKey].map(([key, charged]) => {
    const parts = explainKey({ usage: usageByKey.get(key) ?? [], costs: charged }, model, { book, rounding });
    return parts?.map((part) => ({ day, model, key: key ?? NO_KEY, ...part })) ?? null;
  });
  return differences.includes(null) ? [] : differences.flatMap((parts) => parts ?? []);
}

interface KeyRows {
  readonly usage: readonly ReportedUsage[];
  readonly costs: readonly ReportedCost[];
}

/**
 * Returns the parts of the difference between the charges of one key and the price of what was counted for it, with
 * their causes; null if the catalogue has no price for a counted item.
 */
function explainKey(rows: KeyRows, model: string, { book, rounding }: CompareOptions): ExplainedPart[] | null {
  const price = priceOf(rows.usage, model, book);
  if (price === null) return null;
  const difference = sum(rows.costs.map(({ amount }) => amount)) - price;
  const bound = rounding * BigInt(rows.costs.length + 1);
  const question = { book, model, ...rows, rounding };
  const rates = isWithin(difference, bound) ? explainOpposedPrices(question) : (explainPrices(question) ?? []);
  if (rates.length > 0 && isWithin(difference - sum(rates.map(({ amount }) => amount)), bound)) return rates;
  if (isWithin(difference, bound)) return [];
  const detail = `${formatUsd(difference)} USD more than the counts of this key cost`;
  return [{ cause: 'unknown', amount: difference, detail }];
}

/** Returns true if the catalogue gives the recorded cost of the recorded counts. */
export function isPricedAlike(group: ChargeGroup, { book, rounding }: CompareOptions): boolean {
  const price = priceOf(group.recorded, group.model, book);
  return price !== null && isWithin(price - recordedCost(group), roundingOf(group, rounding));
}

interface Counts extends PriceCell {
  readonly tokens: TokenCounts;
  readonly requests: bigint | null;
}

function priceOf(rows: readonly Counts[], model: string, book: PriceBook): PicoUsd | null {
  let price: PicoUsd = 0n;
  for (const { tokens, requests, ...cell } of rows) {
    const amount = book.price(model, cell, tokens, requests ?? 0n);
    if (amount === null) return null;
    price += amount;
  }
  return price;
}
