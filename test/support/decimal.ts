/**
 * Money for the checker: exact, and its own, so that a mistake in the product's arithmetic cannot hide itself.
 * Amounts are integers of 10^-24 dollars, finer than anything the books can hold.
 */
export type Amount = bigint;

const DECIMALS = 24;
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** A decimal string or the text of a JSON number, digit for digit. @throws Error for anything finer or foreign */
export function amountOf(text: string): Amount {
  const match = NUMBER.exec(text);
  if (match === null) throw new Error(`not a decimal number: ${text}`);
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  const digits = BigInt(whole + fraction);
  const shift = DECIMALS - fraction.length + Number(exponent);
  if (shift >= 0) return (sign === '-' ? -digits : digits) * 10n ** BigInt(shift);
  const divisor = 10n ** BigInt(-shift);
  if (digits % divisor !== 0n) throw new Error(`finer than 10^-${DECIMALS}: ${text}`);
  return (sign === '-' ? -digits : digits) / divisor;
}

export function sumOf(amounts: Iterable<Amount>): Amount {
  let sum = 0n;
  for (const amount of amounts) sum += amount;
  return sum;
}

export function textOf(amount: Amount): string {
  const digits = (amount < 0n ? -amount : amount).toString().padStart(DECIMALS + 1, '0');
  const fraction = digits.slice(-DECIMALS).replace(/0+$/, '');
  return `${amount < 0n ? '-' : ''}${digits.slice(0, -DECIMALS)}${fraction === '' ? '' : `.${fraction}`}`;
}
