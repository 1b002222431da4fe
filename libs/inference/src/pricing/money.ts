import { AppError } from '@libs/errors';

/** An amount of money in pico-dollars: 1 USD = 10^12. May be negative, e.g. one side of a ledger entry. */
export type PicoUsd = bigint;

/** A price per unit (token, request, second, …) in 10^-18 USD, which is exact for half of any listed price. */
export type Rate = bigint;

const AMOUNT_DECIMALS = 12;
const RATE_DECIMALS = 18;
const RATE_PER_PICO_USD = 10n ** BigInt(RATE_DECIMALS - AMOUNT_DECIMALS);
const ZERO = 0x30;
const LEADING_ZEROS = `0.${'0'.repeat(RATE_DECIMALS)}`;
const DECIMAL = /^(-?)(0|[1-9]\d{0,17})(?:\.(\d{1,40}))?$/;

/**
 * Reads a decimal string such as `"12.5"` or `"-0.000001"`, in strict form: no exponent, `+` sign, spaces, leading
 * zeros or bare point, and at most 18 digits before the point. Digits after the 12th decimal must be zeros, because
 * input amounts are never rounded. Throws `invalid_request` for anything else.
 */
export function parseUsd(decimal: string): PicoUsd {
  return readOrThrow(decimal, AMOUNT_DECIMALS, 'An amount of money must be a decimal string in US dollars');
}

/** Returns the exact decimal string: no exponent, no trailing zeros, e.g. `"0.00000015"`. `parseUsd` reads it back. */
export function formatUsd(amount: PicoUsd): string {
  return formatScaled(amount, AMOUNT_DECIMALS);
}

/** Returns the double nearest to the amount, for `cost` fields, which are JSON numbers in the API. */
export function usdNumber(amount: PicoUsd): number {
  return Number(formatUsd(amount));
}

/**
 * Reads a price per unit: like `parseUsd`, with up to 18 decimals and never negative. Throws `invalid_request`
 * otherwise.
 */
export function parseRate(decimal: string): Rate {
  const refusal = 'A price must be a decimal string in US dollars';
  const rate = readOrThrow(decimal, RATE_DECIMALS, refusal);
  if (rate < 0n) throw new AppError('invalid_request', refusal);
  return rate;
}

/** Returns the price of `count` units in pico-dollars, rounded down. For estimates: bills round once, in `priceUsage`. */
export function estimatedPrice(rate: Rate, count: bigint): PicoUsd {
  return (rate * count) / RATE_PER_PICO_USD;
}

/** Converts an amount in units of `Rate` to pico-dollars, rounded up. Used for reservations. */
export function reservedAmount(amount: bigint): PicoUsd {
  return (amount + RATE_PER_PICO_USD - 1n) / RATE_PER_PICO_USD;
}

/** Returns the exact decimal string of a price per unit. */
export function formatRate(rate: Rate): string {
  return formatScaled(rate, RATE_DECIMALS);
}

function readOrThrow(decimal: string, decimals: number, refusal: string): bigint {
  const match = typeof decimal === 'string' ? DECIMAL.exec(decimal) : null;
  if (!match) throw new AppError('invalid_request', refusal);
  const [, sign = '', whole = '0', fraction = ''] = match;
  if (/[1-9]/.test(fraction.slice(decimals))) throw new AppError('invalid_request', refusal);
  const magnitude = BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, '0'));
  return sign === '-' ? -magnitude : magnitude;
}

function formatScaled(value: bigint, decimals: number): string {
  if (value === 0n) return '0';
  const sign = value < 0n ? '-' : '';
  const digits = (value < 0n ? -value : value).toString();
  let end = digits.length;
  while (digits.charCodeAt(end - 1) === ZERO) end -= 1;
  const point = digits.length - decimals;
  if (point <= 0) return sign + LEADING_ZEROS.slice(0, 2 - point) + digits.slice(0, end);
  const whole = sign + digits.slice(0, point);
  return end <= point ? whole : `${whole}.${digits.slice(point, end)}`;
}
