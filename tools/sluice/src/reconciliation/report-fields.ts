import type { PicoUsd } from '@libs/inference';
import { unreadable, type JsonObject } from './report-client';

/** At most 500 characters without control characters. */
export const PRINTABLE = /^\P{C}{0,500}$/u;
const COUNT = /^\d{1,18}$/;
const NUMBER = /^(-?)(\d{1,18})(?:\.(\d{1,60}))?(?:[eE]([+-]?\d{1,2}))?$/;
const PICO_DECIMALS = 12;
const SHORTEST_DATE = 10;

/** Reads the fields of one report. Errors name the field that cannot be read. */
export class ReportFields {
  constructor(private readonly path: string) {}

  /** An absent or null count is 0. */
  count(result: JsonObject, name: string): bigint {
    const value = result[name] ?? '0';
    if (typeof value !== 'string' || !COUNT.test(value)) throw unreadable(this.path, `has a ${name} that is no count`);
    return BigInt(value);
  }

  /** An absent field is null. Control characters are refused, because texts are printed on a terminal. */
  text(result: JsonObject, name: string): string | null {
    const value = result[name] ?? null;
    if (value === null) return null;
    if (typeof value !== 'string' || !PRINTABLE.test(value)) {
      throw unreadable(this.path, `has a ${name} that is no plain text`);
    }
    return value;
  }

  object(result: JsonObject, name: string): JsonObject {
    const value = result[name] ?? {};
    if (typeof value !== 'object' || Array.isArray(value)) {
      throw unreadable(this.path, `has a ${name} that is no object`);
    }
    return value as JsonObject;
  }

  /**
   * Reads an amount, which may have an exponent. Digits below the pico-dollar are rounded: some providers write all
   * digits of a double.
   * @param scale decimals of the unit: 0 for dollars, 2 for cents
   */
  amount(result: JsonObject, name: string, scale = 0): PicoUsd {
    const amount = readAmount(result[name], scale);
    if (amount === null) throw unreadable(this.path, `has an ${name} that is no amount`);
    return amount;
  }

  /** The UTC day in which a bucket starts, of Unix seconds or an RFC 3339 time. */
  day(start: unknown): string {
    if (typeof start === 'string' && COUNT.test(start) && start.length < PICO_DECIMALS) {
      return new Date(Number(start) * 1_000).toISOString().slice(0, SHORTEST_DATE);
    }
    if (typeof start === 'string' && /^\d{4}-\d{2}-\d{2}T00:00:00(\.0+)?(Z|\+00:00)$/.test(start)) {
      return start.slice(0, SHORTEST_DATE);
    }
    throw unreadable(this.path, 'has a day without a start in UTC');
  }

  /** @throws if the amounts are in a currency other than US dollars */
  inDollars(currency: unknown): void {
    if (typeof currency !== 'string' || currency.toUpperCase() !== 'USD') {
      throw unreadable(this.path, 'has amounts that are not in US dollars');
    }
  }
}

/** Returns an amount in pico-dollars; null unless it is a decimal number with at most 18 digits before the point. */
export function readAmount(value: unknown, scale = 0): PicoUsd | null {
  const match = typeof value === 'string' ? NUMBER.exec(value) : null;
  if (match === null) return null;
  const [, sign, whole = '0', fraction = '', exponent = '0'] = match;
  const digits = BigInt(whole + fraction);
  const shift = PICO_DECIMALS - scale - fraction.length + Number(exponent);
  const magnitude = shift >= 0 ? digits * 10n ** BigInt(shift) : halfUp(digits, 10n ** BigInt(-shift));
  return sign === '-' ? -magnitude : magnitude;
}

function halfUp(digits: bigint, divisor: bigint): bigint {
  return (digits + divisor / 2n) / divisor;
}
