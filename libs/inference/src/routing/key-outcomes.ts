import type { Secret } from '@libs/contracts';
import { AppError, type ErrorCode } from '@libs/errors';
import { failedTogether, type Attempt } from './attempt';
import type { AttemptEnd } from './attempt-end';
import { keyRefusalOf, withStatusOf } from '../wire/upstream-error';
import { notedRefusal } from '../wire/upstream-refusal';
import type { CredentialScope, CredentialSource } from './credential-source';
import type { Candidate } from './planned-route';
import { OWN_KEY_REFUSED, refusal, type AvailabilityCode } from './route-refusal';

/** What a provider can have against a caller's own key or its account. */
const OF_OWN_KEY = {
  authentication: OWN_KEY_REFUSED,
  payment_required: 'The account of your own key at the provider has no credit, or is suspended',
  permission_denied: 'The provider does not allow this call to the account of your own key',
} as const;

const ofOwnKeys = new WeakSet<AppError>();

/** Returns whether only the owner of a provider key can remove the cause of this error. */
export function isOfOwnKey(error: AppError): boolean {
  return ofOwnKeys.has(error) || error.code === 'authentication';
}

/**
 * Returns the error of a request whose attempts all failed, as `failedTogether` does. 401, 402 or 403 if all failed
 * because providers refused the caller's own keys or their accounts, which the caller must correct; 404 if no provider
 * knows the model. The last, and 429 if all providers limit the rate, have an `availability`.
 */
export function failedByAll(attempts: readonly Attempt[], errors: readonly AppError[]): AppError {
  const error = failedTogether(attempts, errors);
  const all = (end: AttemptEnd): boolean => attempts.length > 0 && attempts.every((one) => one.end === end);
  // A retry does not help: the operator has to correct the catalogue.
  if (all('unknown_model')) return withAvailability('not_found', 'model_unavailable_upstream', attempts, error);
  if (all('rate_limited')) return withAvailability('rate_limit_exceeded', 'capacity_exhausted', attempts, error);
  const code = attempts.every(({ isByok }) => isByok) ? ownKeyCode(errors) : null;
  if (code === null) return error;
  const { metadata, retryAfterSeconds, internal } = error;
  const ours = new AppError(code, OF_OWN_KEY[code], { metadata, retryAfterSeconds, internal, cause: error });
  ofOwnKeys.add(ours);
  return ours;
}

/** Returns the code for providers that all refused the key or the account; null for any other failures. */
function ownKeyCode(errors: readonly AppError[]): keyof typeof OF_OWN_KEY | null {
  const last = errors.at(-1);
  if (last === undefined || !errors.every((error) => REFUSED.has(notedRefusal(error)))) return null;
  if (notedRefusal(last) === 'refused_key') return 'authentication';
  return keyRefusalOf(last) === null ? 'payment_required' : 'permission_denied';
}

const REFUSED: ReadonlySet<string | null> = new Set(['refused_key', 'refused_account']);

/** Returns the error of attempts that all ended alike, with its `availability`. */
function withAvailability(
  code: ErrorCode,
  availabilityCode: AvailabilityCode,
  attempts: readonly Attempt[],
  error: AppError,
): AppError {
  const { message, metadata, internal, retryAfterSeconds } = error;
  const { availability } = refusal(
    { error: code, code: availabilityCode, message },
    [...new Set(attempts.map(({ model }) => model))],
    attempts.map(({ providerName }) => providerName),
    retryAfterSeconds,
  );
  const shared = new AppError(code, message, { availability, metadata, internal, retryAfterSeconds, cause: error });
  return withStatusOf(error, shared);
}

/** Reports whether providers accept the callers' own keys. */
export class KeyOutcomes {
  /** The key with which each candidate was last called. */
  readonly #keys = new WeakMap<Candidate, Secret>();

  constructor(private readonly credentials: Pick<CredentialSource, 'noteVerdict'>) {}

  calledWith(candidate: Candidate, key: Secret | null): void {
    if (candidate.credential && key) this.#keys.set(candidate, key);
  }

  /**
   * @param error why there was no answer; null if there was one, which is reported only if the key was refused before
   */
  note(candidate: Candidate, scope: CredentialScope, error: AppError | null): void {
    const { credential } = candidate;
    const key = this.#keys.get(candidate);
    if (!credential || key === undefined) return;
    const verdict = error === null ? 'accepted' : keyRefusalOf(error);
    if (verdict === null || (verdict === 'accepted' && credential.wasRefused !== true)) return;
    this.credentials.noteVerdict(credential, key, scope, verdict);
  }
}
