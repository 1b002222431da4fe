import { AppError } from '@libs/errors';
import {
  failedRouteOf,
  routingMetadata,
  sameRoute,
  type PipelineStage,
  type RoutePlan,
  type RoutingMetadata,
} from '@libs/inference';

/** What had been done for a call when it failed. */
export interface FailedCall {
  readonly stages: readonly PipelineStage[];
  /** The usage of an answer that was refused after it was given, for which the caller pays; null without one. */
  readonly usage?: unknown;
  /** Plans the route of a call that was stopped before it was planned. */
  readonly plan: () => Promise<RoutePlan>;
}

/** Kept outside the errors, because the content of an error may be shown to callers who did not ask for metadata. */
const calls = new WeakMap<AppError, FailedCall>();

/** Notes what preceded the error, for `failureMetadata`. Returns the same error. */
export function noteFailedCall(error: AppError, call: FailedCall): AppError {
  calls.set(error, call);
  return error;
}

/** Returns `error`, which rewords `from`, with the facts that were noted for that call. */
export function rephrased(error: AppError, from: AppError): AppError {
  const call = calls.get(from);
  if (call !== undefined) calls.set(error, call);
  return sameRoute(error, failedRouteOf(from));
}

/** Returns the `usage` that the error of a refused answer has; null for other errors. */
export function failureUsage(thrown: unknown): unknown {
  return thrown instanceof AppError ? (calls.get(thrown)?.usage ?? null) : null;
}

/**
 * Returns the value of the `<service>_metadata` field for a failed call: its route, the attempts and the stages that it
 * went through. Null if nothing had been done for it.
 */
export async function failureMetadata(thrown: unknown): Promise<RoutingMetadata | null> {
  if (!(thrown instanceof AppError)) return null;
  const { stages: pipeline = [], plan } = calls.get(thrown) ?? {};
  const route = failedRouteOf(thrown);
  if (route !== null) return routingMetadata({ ...route, served: null, pipeline });
  if (pipeline.length === 0 || plan === undefined) return null;
  const planned = await plan().catch((error: unknown) => failedRouteOf(AppError.from(error))?.plan);
  return planned === undefined ? null : routingMetadata({ plan: planned, attempts: null, served: null, pipeline });
}
