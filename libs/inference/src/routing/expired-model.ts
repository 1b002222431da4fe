import type { AppError } from '@libs/errors';
import type { Model } from '../catalogue/catalogue-entries';
import { refusal, type Reason } from './route-refusal';
import { theModel } from './unknown-model';

/**
 * Why a model is not served any more; null while it is.
 *
 * @param today in UTC, as `utcDay` returns it
 */
export function expiryOf({ slug, expirationDate }: Model, today: string): Reason | null {
  if (expirationDate === null || expirationDate > today) return null;
  return {
    error: 'not_found',
    code: 'model_deprecated',
    message: `${theModel(slug)} is not served since ${expirationDate}`,
  };
}

/** The same as an error for a caller. */
export function expiredRefusal(model: Model, today: string): AppError | null {
  const reason = expiryOf(model, today);
  return reason === null ? null : refusal(reason, [model.slug]);
}
