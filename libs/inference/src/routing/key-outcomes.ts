import type { Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { failedTogether, type Attempt } from './attempt';
import { keyRefusalOf } from '../wire/upstream-error';
import type { CredentialScope, CredentialSource } from './credential-source';
import type { Candidate } from './planned-route';
import { OWN_KEY_REFUSED, refusal } from './route-refusal';

/**
 * Returns the error of a request whose attempts all failed, as `failedTogether` does. 401 if all failed because
 * providers refused the caller's own keys, which the caller must replace; 404 if no provider knows the model.
 */
export function failedByAll(attempts: readonly Attempt[], errors: readonly AppError[]): AppError {
  const error = failedTogether(attempts, errors);
  if (attempts.length > 0 && attempts.every(({ end }) => end === 'unknown_model')) return unknownToAll(attempts, error);
  const isCallersToMend = attempts.length > 0 && attempts.every(({ isByok }) => isByok) && errors.every(keyRefusalOf);
  if (!isCallersToMend) return error;
  const { metadata, retryAfterSeconds, internal } = error;
  return new AppError('authentication', OWN_KEY_REFUSED, { metadata, retryAfterSeconds, internal, cause: error });
}

/** A retry does not help: the operator has to correct the catalogue. */
function unknownToAll(attempts: readonly Attempt[], error: AppError): AppError {
  const reason = { error: 'not_found', code: 'model_unavailable_upstream', message: error.message } as const;
  const models = [...new Set(attempts.map(({ model }) => model))];
  const { code, availability } = refusal(
    reason,
    models,
    attempts.map(({ providerName }) => providerName),
  );
  const { metadata, internal } = error;
  return new AppError(code, error.message, { availability, metadata, internal, cause: error });
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
