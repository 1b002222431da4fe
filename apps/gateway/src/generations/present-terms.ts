import { AppError } from '@libs/errors';
import { keyLimitOf } from '@libs/persistence';
import type { KeyDirectory } from '@libs/platform';
import type { Opening } from './generation-ticket';

/** Returns a call with the current limit of its key and the current budgets of its workspace. */
export type PresentTerms = (opening: Opening) => Promise<Opening>;

/**
 * Makes a `PresentTerms` from a key directory. A call of many turns may last for minutes, so the current limits decide
 * what it may still spend. The directory learns of changes within a second and sends no request for a key that it
 * knows.
 * @throws AppError authentication if the key is disabled, deleted or expired; unavailable while that cannot be known
 */
export function presentTermsOf(directory: Pick<KeyDirectory, 'findRecord'>): PresentTerms {
  return async (opening) => {
    const principal = await directory.findRecord(opening.apiKeyHash);
    if (principal === null) {
      throw new AppError('authentication', 'The API key of this request is disabled, deleted or expired');
    }
    return { ...opening, keyLimit: keyLimitOf(principal), budgets: principal.budgets };
  };
}
