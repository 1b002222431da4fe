import { formatUsd, type PicoUsd } from '@libs/inference';
import type { ExplainedPart } from './charge-difference';
import type { ReportedCost, ReportedUsage } from './charge-facts';
import type { PriceBook } from './price-book';
import { NO_TOKENS, TOKEN_CLASSES, type TokenClass } from './token-counts';

/** Providers quote prices per million tokens, in steps of at least 0.0001 USD. */
const STEP: PicoUsd = 100_000_000n;
const MILLION = 1_000_000n;
/** A number is accepted as a rate only if a random amount would rarely look like it. */
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
 * Returns the classes of tokens that the provider charges at another rate than the catalogue's, with the amount that
 * each adds. Null unless every amount is for one class of tokens and each that differs is exactly its tokens at one
 * rate.
 */
export function explainPrices(question: Question): ExplainedPart[] | null {
  const differences = classDifferences(question);
  if (differences === null) return null;
  const parts = differences.flatMap(({ tokenClass, amount, tokens, rate }) => {
    if (rate === null) return [];
    const cause = tokenClass === 'cacheWrite5m' || tokenClass === 'cacheWrite1h' ? 'cache_write' : 'price';
    const detail = `${tokens} ${tokenClass} tokens at ${formatUsd(rate)} USD per million`;
    return [{ cause, amount, detail } as const];
  });
  return parts.length === differences.length ? parts : null;
}

/**
 * Returns such classes for amounts whose sum agrees. A class that differs counts even without a regular rate, because
 * classes that differ in opposite directions would hide each other. Empty if amounts are not for one class of tokens
 * each.
 */
export function explainOpposedPrices(question: Question): ExplainedPart[] {
  const regular = explainPrices(question);
  if (regular !== null) return regular;
  return (classDifferences(question) ?? []).map(({ tokenClass, amount, tokens }) => ({
    cause: 'unknown',
    amount,
    detail: `${formatUsd(amount)} USD more than ${tokens} ${tokenClass} tokens cost`,
  }));
}

interface ClassDifference {
  readonly tokenClass: TokenClass;
  readonly amount: PicoUsd;
  readonly tokens: bigint;
  /**
   * In pico-dollars per million tokens; null if the amount matches no regular rate, or the tokens are too few to tell.
   */
  readonly rate: PicoUsd | null;
}

/**
 * Returns the difference of each class of tokens; null if an amount is not for one class, or the catalogue lacks a
 * price.
 */
function classDifferences({ book, model, usage, costs, rounding }: Question): ClassDifference[] | null {
  const charged = chargedByClass(costs);
  if (charged === null) return null;
  const differences: ClassDifference[] = [];
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
    differences.push({ tokenClass, amount, tokens, rate: regularRate(lines.amount, tokens, rounded) });
  }
  return differences;
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

/** Returns the price per million tokens that gives the amount; null if there is none, or too few tokens to tell. */
function regularRate(amount: PicoUsd, tokens: bigint, rounded: PicoUsd): PicoUsd | null {
  if (amount < 0n || STEP * tokens < CLEARANCE * rounded * MILLION) return null;
  const steps = (amount * MILLION + (STEP * tokens) / 2n) / (STEP * tokens);
  const rate = steps * STEP;
  return isWithin(amount - (rate * tokens) / MILLION, rounded) ? rate : null;
}
