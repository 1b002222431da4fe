import { AppError } from '@libs/errors';
import { collectFailures, type MemberFailure } from './member-failures';
import { toInstance, type Constructor } from './to-instance';

export interface ValidateOptions {
  /** Refuse members that the class does not declare; by default they are kept and not looked at. */
  readonly refuseUnknown?: boolean;
}

/** More failures than these help nobody, and a caller must not make us write a book. */
const REPORTED_FAILURES = 5;

/**
 * A validated instance of a decorated class, or `invalid_request` (interface §7) that names the members at
 * fault, at most five, and never a value. `metadata.param` is the path of the first, null for the whole.
 *
 * The instance shares the untyped parts of `plain`; members that the class does not declare are kept.
 */
export function validateInstance<T extends object>(
  Class: Constructor<T>,
  plain: unknown,
  options: ValidateOptions = {},
): T {
  if (typeof plain !== 'object' || plain === null || Array.isArray(plain)) {
    throw new AppError('invalid_request', 'Expected a JSON object', { metadata: { param: null } });
  }
  const instance = toInstance(Class, plain);
  const failures = collectFailures(instance, { limit: REPORTED_FAILURES, refuseUnknown: options.refuseUnknown });
  if (failures.length > 0) throw invalidRequest(failures);
  return instance;
}

function invalidRequest(failures: readonly MemberFailure[]): AppError {
  const sentences = failures.map(({ path, message, missing }) => (missing ? `${path} is required` : message));
  return new AppError('invalid_request', sentences.join('; '), { metadata: { param: failures[0]?.path || null } });
}
