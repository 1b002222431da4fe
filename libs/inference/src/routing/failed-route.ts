import type { AppError } from '@libs/errors';
import type { Attempt } from './attempt';
import type { RoutePlan } from './planned-route';

/** The route of a request that no endpoint answered. */
export interface FailedRoute {
  readonly plan: RoutePlan;
  /** The upstream calls, in their order. */
  readonly attempts: readonly Attempt[];
}

/** Kept outside the errors: what is in an error may be shown to callers who did not ask for this. */
const attemptsOf = new WeakMap<AppError, readonly Attempt[]>();
const routes = new WeakMap<AppError, FailedRoute>();

/** Notes the upstream calls made before the error. Returns the same error. */
export function noteAttempts(error: AppError, attempts: readonly Attempt[]): AppError {
  attemptsOf.set(error, attempts);
  return error;
}

/** The upstream calls that ended in this error. */
export function attemptsBefore(error: AppError): readonly Attempt[] {
  return attemptsOf.get(error) ?? [];
}

/** Notes the plan that failed with the error. Returns the same error. */
export function failedOnRoute(error: AppError, plan: RoutePlan): AppError {
  routes.set(error, { plan, attempts: attemptsBefore(error) });
  return error;
}

/** Records the route that the error ended, if there was one. Returns the same error. */
export function sameRoute(error: AppError, route: FailedRoute | null): AppError {
  if (route !== null) routes.set(error, route);
  return error;
}

/** Returns the route that failed with this error, also one without endpoints; null where nothing was planned. */
export function failedRouteOf(error: AppError): FailedRoute | null {
  return routes.get(error) ?? null;
}
