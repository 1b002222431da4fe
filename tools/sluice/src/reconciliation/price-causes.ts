import { formatUsd, type PicoUsd } from '@libs/inference';
import type { ExplainedPart } from './charge-difference';
import type { ReportedCost, ReportedUsage } from './charge-facts';
import type { PriceBook } from './price-book';
import { NO_TOKENS, TOKEN_CLASSES, type TokenClass } from './token-counts';

/** Providers quote prices per million tokens, in steps of at least 0.0001 USD. */
const STEP: PicoUsd = 100_000_000n;
const MILLION = 1_000_000n;
/** A rate is taken for one only if a random amount would rarely look like it. */
const CLEARANCE = 8n;

interface Question {
  readonly book: PriceBook;
  readonly model: string;
  readonly usage: readonly ReportedUsage[];
  readonly costs: readonly ReportedCost[];
  /** How far the amount of one line may be rounded. */
  readonly rounding: PicoUsd;
}

/**
 * Returns the classes of tokens that the provider charges at another rate than the catalogue's, with what each adds;
 * null unless all amounts are for one class of tokens and each that differs is exactly its tokens at one rate.
 */
export function explainPrices({ book, model, usage, costs, rounding }: Question): ExplainedPart[] | null {
  const charged = chargedByClass(costs);
  if (charged === null) return null;
  const parts: ExplainedPart[] = [];
  for (const tokenClass of TOKEN_CLASSES) {
    const lines = charged.get(tokenClass) ?? { amount: 0n, count: 0n };
    const cells = usage.filter(({ tokens }) => tokens[tokenClass] > 0n);
    const expected = cells.map((cell) =>
      book.price(model, cell, { ...NO_TOKENS, [tokenClass]: cell.tokens[tokenClass] }, 0n),
    );
    if (expected.includes(null)) return null;
    const amount = lines.amount - expected.reduce<PicoUsd>((sum, one) => sum + (one ?? 0n), 0n);
    const rounded = rounding * (lines.count + 1n);
    if (isWithin(amount, rounded)) continue;
    const tokens = cells.reduce((sum, cell) => sum + cell.tokens[tokenClass], 0n);
    const rate = regularRate(lines.amount, tokens, rounded);
    if (rate === null) return null;
    const cause = tokenClass === 'cacheWrite5m' || tokenClass === 'cacheWrite1h' ? 'cache_write' : 'price';
    parts.push({ cause, amount, detail: `${tokens} ${tokenClass} tokens at ${formatUsd(rate)} USD per million` });
  }
  return parts;
}

export function isWithin(amount: PicoUsd, bound: PicoUsd): boolean {
  return amount <= bound && amount >= -bound;
}

function chargedByClass(costs: readonly ReportedCost[]): Map<TokenClass, { amount: PicoUsd; count: bigint }> | null {
  const sums = new Map<TokenClass, { amount: PicoUsd; count: bigint }>();
  for (const { tokenClass, amount } of costs) {
    if (tokenClass === null) return null;
    const known = sums.get(tokenClass) ?? { amount: 0n, count: 0n };
    sums.set(tokenClass, { amount: known.amount + amount, count: known.count + 1n });
  }
  return sums;
}

/** Returns the price per million tokens that gives the amount; null if there is none, or too few tokens to say. */
function regularRate(amount: PicoUsd, tokens: bigint, rounded: PicoUsd): PicoUsd | null {
  if (amount < 0n || STEP * tokens < CLEARANCE * rounded * MILLION) return null;
  const steps = (amount * MILLION + (STEP * tokens) / 2n) / (STEP * tokens);
  const rate = steps * STEP;
  return isWithin(amount - (rate * tokens) / MILLION, rounded) ? rate : null;
}
