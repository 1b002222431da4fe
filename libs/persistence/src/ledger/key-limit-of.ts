import type { KeyRecord, Principal } from '@libs/contracts';
import type { KeyLimit, SpendingLimit } from './key-limit';

type Limited = Pick<Principal & KeyRecord, 'limitUsd' | 'limitReset' | 'includeByokInLimit'>;

/** Returns the spending limit of a key; null if it has none. */
export function keyLimitOf({ limitUsd, limitReset, includeByokInLimit }: Limited): KeyLimit | null {
  return limitUsd === null ? null : { amountUsd: limitUsd, reset: limitReset, includesByok: includeByokInLimit };
}

interface Limits {
  readonly keyLimit: KeyLimit | null;
  readonly budgets?: readonly SpendingLimit[] | undefined;
}

/** Returns true if a limit counts what the caller's own providers charge: then the whole list price is held. */
export function countsByok({ keyLimit, budgets = [] }: Limits): boolean {
  return keyLimit?.includesByok === true || budgets.some(({ includesByok }) => includesByok);
}
