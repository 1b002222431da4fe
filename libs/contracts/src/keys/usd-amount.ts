/** A decimal amount in US dollars as it crosses the broker: at most 12 decimals, which is one pico-dollar. */
export const USD_DECIMAL = /^\d{1,18}(?:\.\d{1,12})?$/;

/** The largest amount a caller may name, in US dollars. */
export const MAX_USD = 1_000_000_000;

const EXPONENT = /^(\d)(?:\.(\d+))?e-(\d+)$/;

/**
 * Returns the exact decimal text of a JSON number in US dollars: what the caller wrote, not the nearest binary number.
 * Null for an invalid amount: not finite, negative (also -0), above MAX_USD or finer than a pico-dollar.
 */
export function usdFromNumber(amountUsd: number): string | null {
  if (!Number.isFinite(amountUsd) || amountUsd < 0 || Object.is(amountUsd, -0) || amountUsd > MAX_USD) return null;
  const text = withoutExponent(String(amountUsd));
  return USD_DECIMAL.test(text) ? text : null;
}

/** Numbers below one millionth print as `2.5e-7`. Those from 10^21 on, which print in the same way, do not get here. */
function withoutExponent(text: string): string {
  const match = EXPONENT.exec(text);
  if (!match) return text;
  return `0.${'0'.repeat(Number(match[3]) - 1)}${match[1]}${match[2] ?? ''}`;
}
