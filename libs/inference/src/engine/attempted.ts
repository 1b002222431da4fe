import type { AppError } from '@libs/errors';
import type { Answered } from './endpoint-caller';
import type { InferenceResult, Served } from './inference-call';
import type { TimedRequest } from './upstream-calls';
import type { Attempt } from '../routing/attempt';
import type { Candidate } from '../routing/route-plan';

/** The outcome of a request's attempts. */
export interface Attempted<T> extends Omit<Served, 'losses' | 'attempts'> {
  readonly value: T;
  readonly attempts: Attempt[];
}

/** Decides whether a candidate may be called now, given the candidates that failed before. */
export type Admission = (candidate: Candidate, failed: readonly Candidate[]) => boolean;

export type AttemptOutcome<T> = { readonly attempt: Attempt } & (
  | { readonly error: null; readonly value: T }
  | { readonly error: AppError; readonly value: null }
);

/** Runs one attempt at a candidate. */
export type Run<T> = (candidate: Candidate, attempt: TimedRequest) => Promise<T>;

/** Returns a whole answer together with the endpoint it came from. */
export function whole({
  value,
  model,
  endpoint,
  credential,
  status,
  attempts,
  plan,
}: Attempted<Answered>): InferenceResult {
  return { ...value, model, endpoint, credential, status, attempts, plan };
}
