import { AppError } from '@libs/errors';
import type { Claims } from '../claims';
import { badCondition } from './bad-condition';
import { isMet } from './evaluation';
import { parseCondition } from './parser';

const MAX_LENGTH = 2_000;

/** Returns whether verified claims meet a condition. */
export type Condition = (claims: Claims) => boolean;

/**
 * Compiles a policy's condition: an expression over `claims` in a part of the Common Expression Language
 * ([decision 55](../../../../../docs/adr/0055-conditions-have-a-language-of-our-own.md)).
 *
 * @throws AppError invalid_request that names `condition`
 */
export function compileCondition(text: string): Condition {
  if (text.length > MAX_LENGTH) throw badCondition(`must be at most ${MAX_LENGTH} characters long`);
  const condition = parseCondition(text);
  return (claims) => isMet(condition, claims);
}

/** Returns whether claims meet a stored condition; false for one that this version does not allow. */
export function meetsCondition(text: string, claims: Claims): boolean {
  let condition: Condition;
  try {
    condition = compileCondition(text);
  } catch (thrown) {
    if (thrown instanceof AppError) return false;
    throw thrown;
  }
  return condition(claims);
}
