import type { AppError } from '@libs/errors';
import type { Attempt } from './attempt';
import type { RoutePlan } from './planned-route';

/** The route of a request that no endpoint answered. */
export interface FailedRoute {
  readonly plan: RoutePlan;
  /** The upstream calls, in their order. */
  readonly attempts: readonly Attempt[];
}

/** Stored outside the errors, because the content of an error may be shown to callers who did not ask for attempts. */
const attemptsOf = new WeakMap<AppError, readonly Attempt[]>();
const routes = new WeakMap<AppError, FailedRoute>();

/** Notes the upstream calls made before the error. Returns the same error. */
export function noteAttempts(error: AppError, attempts: readonly Attempt[]): AppError {
  attemptsOf.set(error, attempts);
  return error;
}

/** Returns the upstream calls that ended in this error. */
export function attemptsBefore(error: AppError): readonly Attempt[] {
  return attemptsOf.get(error) ?? [];
}

/** Notes the plan that failed with the error. Returns the same error. */
export function failedOnRoute(error: AppError, plan: RoutePlan): AppError {
  routes.set(error, { plan, attempts: attemptsBefore(error) });
  return error;
}

/** Copies the route noted for another error, if there is one, to the error. Returns the same error. */
export function sameRoute(error: AppError, route: FailedRoute | null): AppError {
  if (route !== null) routes.set(error, route);
  return error;
}

/** Returns the route that failed with this error, even one without endpoints; null if no route was planned. */
export function failedRouteOf(error: AppError): FailedRoute | null {
  return routes.get(error) ?? null;
}
