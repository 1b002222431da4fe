import type { AppError } from '@libs/errors';
import type { Attempt } from './attempt';
import type { RoutePlan } from './planned-route';

/** The way of a request that nobody answered. */
export interface FailedRoute {
  readonly plan: RoutePlan;
  /** The upstream calls, in their order. */
  readonly attempts: readonly Attempt[];
}

/** Beside the errors and not inside: what is in an error may be shown to callers who did not ask for this. */
const attemptsOf = new WeakMap<AppError, readonly Attempt[]>();
const routes = new WeakMap<AppError, FailedRoute>();

/** The same error, which now knows which calls it comes after. */
export function noteAttempts(error: AppError, attempts: readonly Attempt[]): AppError {
  attemptsOf.set(error, attempts);
  return error;
}

/** The upstream calls that ended in this error. */
export function attemptsBefore(error: AppError): readonly Attempt[] {
  return attemptsOf.get(error) ?? [];
}

/** The same error, which now knows the plan it ended. */
export function failedOnRoute(error: AppError, plan: RoutePlan): AppError {
  routes.set(error, { plan, attempts: attemptsBefore(error) });
  return error;
}

/** Records the route that the error ended, if there was one. Returns the same error. */
export function sameRoute(error: AppError, route: FailedRoute | null): AppError {
  if (route !== null) routes.set(error, route);
  return error;
}

/** The route that ended in this error, or that none was found on; null where nothing was planned. */
export function failedRouteOf(error: AppError): FailedRoute | null {
  return routes.get(error) ?? null;
}
