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

/** What a 401 or 403 is about that no other key of the same account would be spared. */
const ACCOUNT = /billing|countr|firewall|location|network|region/i;
/** What a 404 is about that is not about a wrong path. */
const MODEL = /model|deployment|inference profile/i;

/** @param status as `meantStatus` returns it; `code` is that of our error */
export function refusalOf(status: number, code: ErrorCode, complaint: Complaint): Refusal {
  const said = `${complaint.code ?? ''} ${complaint.message ?? ''}`;
  const known = BY_STATUS[status] ?? BY_CODE[code];
  if (known !== undefined) return known === 'refused_key' && ACCOUNT.test(said) ? 'refused_account' : known;
  if (status === 404 && MODEL.test(said)) return 'unknown_model';
  return code === 'provider_unavailable' ? troubleOf(status) : 'refused_request';
}

/** Quotas and bills: the account's state comes with a status that otherwise blames the request. */
function troubleOf(status: number): Refusal {
  return status === 400 || status === 429 ? 'refused_account' : 'down';
}

/** Kept outside the errors: callers must not see all of it. */
const refusals = new WeakMap<AppError, Refusal>();

/** Returns the same error. */
export function noteRefusal(error: AppError, refusal: Refusal): AppError {
  refusals.set(error, refusal);
  return error;
}

/** Returns why a provider refused the call; null for an error that is no answer of a provider. */
export function notedRefusal(error: AppError): Refusal | null {
  return refusals.get(error) ?? null;
}
