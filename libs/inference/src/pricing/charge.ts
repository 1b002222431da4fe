import { AppError } from '@libs/errors';
import type { Rate } from './money';

/**
 * Returns the price of this many units, at full precision.
 * @throws AppError unmapped unless the count is an integer of at least 0
 */
export function charge(count = 0, rate: Rate = 0n): bigint {
  return count === 0 ? 0n : BigInt(checkedCount(count)) * rate;
}

/** Returns the count. @throws AppError unmapped unless it is an integer of at least 0: such a usage cannot be priced */
export function checkedCount(count: number): number {
  if (Number.isSafeInteger(count) && count >= 0) return count;
  throw new AppError('unmapped', 'The usage of this call cannot be priced', {
    internal: 'a count of the usage is no integer of at least 0',
  });
}
