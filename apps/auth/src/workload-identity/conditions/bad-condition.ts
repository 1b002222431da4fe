import { AppError } from '@libs/errors';

/** @param at position in the condition, counted from 0 */
export function badCondition(what: string, at?: number): AppError {
  const place = at === undefined ? '' : ` (character ${at + 1})`;
  return new AppError('invalid_request', `condition ${what}${place}`, { metadata: { param: 'condition' } });
}
