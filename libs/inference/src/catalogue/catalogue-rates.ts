import { parseRate, type Rate } from '../pricing/money';
import type { Located } from './catalogue-document';

/** Reads a price. Reports a value that is not a price and does not use it. */
export function readRate(member: Located, accept: (rate: Rate) => void): void {
  const { value } = member;
  if (typeof value !== 'string') {
    member.report('must be a decimal string in quotes, such as "0.00000015"');
    return;
  }
  if (value.startsWith('-')) {
    member.report('must not be negative');
    return;
  }
  try {
    accept(parseRate(value));
  } catch {
    member.report('must be a plain decimal number of US dollars with at most 18 decimals');
  }
}
