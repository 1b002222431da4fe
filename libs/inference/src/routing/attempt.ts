import { AppError } from '@libs/errors';
import type { Api } from '../catalogue/catalogue';
import { endOfFailure, endOfStream, endForCaller, type AttemptEnd } from './attempt-end';
import type { Candidate } from './planned-route';
import { callStatus } from '../apis/call-status';

/** One upstream call of a request. */
export interface Attempt {
  /** Slug of the model asked for. */
  readonly model: string;
  readonly providerName: string;
  readonly providerSlug: string;
  /** 200, or the status that the error has in an answer of this API. */
  readonly status: number;
  /** Our code of the error, or null. */
  readonly errorCode: string | null;
  readonly end: AttemptEnd;
  readonly tookMs: number;
  /** True if a key of the caller's own was used. */
  readonly isByok: boolean;
}

/** `error` is null for a call that succeeded. */
export function attemptOf(
  api: Api,
  { model, endpoint, credential }: Candidate,
  error: AppError | null,
  tookMs: number,
): Attempt {
  const { name, slug } = endpoint.provider;
  const status = error === null ? 200 : callStatus(api, error);
  const errorCode = error?.code ?? null;
  const isByok = Boolean(credential);
  const end = error === null ? 'ok' : endOfFailure(error);
  return { model: model.slug, providerName: name, providerSlug: slug, status, errorCode, end, tookMs, isByok };
}

/** Returns the attempt after a failure that came later than its start, such as in the middle of a stream. */
export function failedLater(api: Api, attempt: Attempt, error: AppError): Attempt {
  return { ...attempt, status: callStatus(api, error), errorCode: error.code, end: endOfStream(false, error) };
}

/**
 * Returns the error of a request whose attempts all failed: the last attempt's error, with all attempts in
 * `metadata.previous_errors` and the shortest `Retry-After` of them.
 */
export function failedTogether(attempts: readonly Attempt[], errors: readonly AppError[]): AppError {
  const last = errors.at(-1);
  if (last === undefined) return new AppError('timeout', 'The time for this request has run out');
  if (errors.length === 1) return last;
  const waits = errors.flatMap(({ retryAfterSeconds }) => retryAfterSeconds ?? []);
  return new AppError(last.code, last.message, {
    metadata: {
      ...last.metadata,
      previous_errors: attempts.map(({ providerName, errorCode, status, end }) => ({
        provider: providerName,
        code: errorCode,
        status,
        outcome: endForCaller(end),
      })),
    },
    retryAfterSeconds: waits.length === 0 ? undefined : Math.min(...waits),
    internal: last.internal,
    cause: last.cause ?? last,
  });
}
