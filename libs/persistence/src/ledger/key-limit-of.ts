import type { KeyRecord, Principal } from '@libs/contracts';
import type { KeyLimit } from './key-limit';

type Limited = Pick<Principal & KeyRecord, 'limitUsd' | 'limitReset' | 'includeByokInLimit'>;

/** What a key may spend; null where it has no limit. */
export function keyLimitOf({ limitUsd, limitReset, includeByokInLimit }: Limited): KeyLimit | null {
  return limitUsd === null ? null : { amountUsd: limitUsd, reset: limitReset, includesByok: includeByokInLimit };
}
