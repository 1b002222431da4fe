import type { AppError } from '@libs/errors';
import type { Model } from '../catalogue/catalogue-entries';
import { refusal, type Reason } from './route-refusal';
import { theModel } from './unknown-model';

/**
 * Returns why a model is no longer served; null while it is.
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

/** Returns the error for a caller that asks for an expired model; null while the model is served. */
export function expiredRefusal(model: Model, today: string): AppError | null {
  const reason = expiryOf(model, today);
  return reason === null ? null : refusal(reason, [model.slug]);
}
