import { isPlainObject } from '@libs/contracts';
import { AppError } from '@libs/errors';
import {
  collectFailures,
  declaredMembers,
  hasNestedClasses,
  plainCollector,
  type MemberFailure,
} from './member-failures';
import { makesMembers, toInstance, type Constructor } from './to-instance';

export interface ValidateOptions {
  /** True: fields that the class does not declare are refused; by default they are kept and not checked. */
  readonly refuseUnknown?: boolean;
}

/** Limits the length of the error message, which would otherwise depend on the caller's request. */
const REPORTED_FAILURES = 5;

/**
 * Returns a validated instance of a decorated class, or throws `invalid_request` with the names of the invalid fields,
 * at most five, what each may be and what was sent, but never a secret. `metadata.param` is the path of the first, null
 * for the whole body.
 *
 * The instance shares the untyped parts of `plain`; fields that the class does not declare are kept.
 */
export function validateInstance<T extends object>(
  Class: Constructor<T>,
  plain: unknown,
  options: ValidateOptions = {},
): T {
  const instance = toInstance(Class, asObject(plain));
  const failures = collectFailures(instance, { limit: REPORTED_FAILURES, refuseUnknown: options.refuseUnknown });
  if (failures.length > 0) throw invalidRequest(failures);
  return instance;
}

/**
 * Validates a body that must have no fields other than those of its class, so that a misspelled field is not treated as
 * absent.
 * @param readOnly fields of the answer that only the service sets; they are left out, for the caller to compare
 */
export function validateClosed<T extends object>(
  Class: Constructor<T>,
  plain: unknown,
  readOnly: readonly string[] = [],
): T {
  const given = Object.entries(asObject(plain)).filter(([name]) => !readOnly.includes(name));
  return validateInstance(Class, Object.fromEntries(given), { refuseUnknown: true });
}

/**
 * Returns a check for plain objects of one class, with the errors of `validateInstance`. The check returns the object
 * itself: no instance is created, and absent fields cost nothing.
 *
 * A class that converts or presets a field, or contains other classes, throws a plain Error.
 */
export function plainValidator<T extends object>(Class: Constructor<T>): (plain: unknown) => Readonly<T> {
  if (hasNestedClasses(Class) || makesMembers(Class, declaredMembers(Class))) {
    throw new Error(`${Class.name} needs an instance, which validateInstance makes`);
  }
  const collect = plainCollector(Class, REPORTED_FAILURES);
  return (plain) => {
    const object = asObject(plain);
    const failures = collect(object);
    if (failures.length > 0) throw invalidRequest(failures);
    return object as T;
  };
}

function asObject(plain: unknown): object {
  if (isPlainObject(plain)) return plain;
  throw new AppError('invalid_request', 'Expected a JSON object', { metadata: { param: null } });
}

function invalidRequest(failures: readonly MemberFailure[]): AppError {
  const sentences = failures.map(({ path, message, missing }) => (missing ? `${path} is required` : message));
  return new AppError('invalid_request', sentences.join('; '), { metadata: { param: failures[0]?.path || null } });
}
