import { collectFailures, declaredMembers, type MemberFailure } from '../validation/member-failures';
import { toInstance, type Constructor } from '../validation/to-instance';
import { EnvError } from './env-error';

/**
 * Returns a validated instance of an env class from the environment of a process.
 *
 * Every field of the class has one of the decorators of `env-decorators.ts` (or validators of class-validator) and its
 * default as an initializer; a field without a default and without `@IsOptional()` is required. An empty variable
 * counts as unset. Variables that the class does not declare are not read.
 * @throws EnvError with all bad variables at once
 */
export function loadEnv<T extends object>(EnvClass: Constructor<T>, source: NodeJS.ProcessEnv): T {
  const given: Record<string, string> = {};
  for (const name of declaredMembers(EnvClass)) {
    const value = source[name];
    if (value !== undefined && value !== '') given[name] = value;
  }
  const env = toInstance(EnvClass, given);
  const failures = collectFailures(env, { limit: Number.POSITIVE_INFINITY, hidesValues: true });
  if (failures.length > 0) throw new EnvError(failures.map(describeProblem));
  return Object.freeze(env);
}

function describeProblem({ message, missing }: MemberFailure): string {
  return missing ? `${message} (it is not set)` : message;
}
