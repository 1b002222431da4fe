import type { AppError, ErrorCode } from '@libs/errors';

/** Why a provider refused a call. */
export type Refusal =
  | 'refused_key'
  | 'refused_account'
  | 'unknown_model'
  | 'refused_request'
  | 'rate_limited'
  | 'overloaded'
  | 'timeout'
  | 'down';

interface Complaint {
  readonly message: string | null;
  readonly code: string | null;
}

const BY_STATUS: Readonly<Record<number, Refusal>> = { 401: 'refused_key', 402: 'refused_account', 403: 'refused_key' };

const BY_CODE: Partial<Record<ErrorCode, Refusal>> = {
  rate_limit_exceeded: 'rate_limited',
  provider_overloaded: 'overloaded',
  timeout: 'timeout',
};

/** Codes that say nothing about the request. */
const DOWN: ReadonlySet<ErrorCode> = new Set(['provider_unavailable', 'server', 'unmapped']);

/** Matches a 401 or 403 that every key of the same account would get. */
const ACCOUNT = /billing|countr|firewall|location|network|region/i;
/** NVIDIA answers 410 for a model at its end. */
const NOT_THERE: ReadonlySet<number> = new Set([404, 410]);
/** Matches such an answer that is about the model and not about a wrong path. */
const MODEL = /model|deployment|inference profile/i;

/** @param status as returned by `meantStatus`; `code` is that of our error */
export function refusalOf(status: number, code: ErrorCode, complaint: Complaint): Refusal {
  const said = `${complaint.code ?? ''} ${complaint.message ?? ''}`;
  const known = BY_STATUS[status] ?? BY_CODE[code];
  if (known !== undefined) return known === 'refused_key' && ACCOUNT.test(said) ? 'refused_account' : known;
  if (NOT_THERE.has(status) && MODEL.test(said)) return 'unknown_model';
  return DOWN.has(code) ? troubleOf(status) : 'refused_request';
}

/** Quotas and unpaid bills are problems of the account, although their status blames the request. */
function troubleOf(status: number): Refusal {
  return status === 400 || status === 429 ? 'refused_account' : 'down';
}

/** Stored outside the errors, because callers must not see all of it. */
const refusals = new WeakMap<AppError, Refusal>();

/** Returns the same error. */
export function noteRefusal(error: AppError, refusal: Refusal): AppError {
  refusals.set(error, refusal);
  return error;
}

/** Returns why a provider refused the call; null for an error that is not an answer of a provider. */
export function notedRefusal(error: AppError): Refusal | null {
  return refusals.get(error) ?? null;
}
