import { AppError } from '@libs/errors';
import type { CredentialScope, OwnCredential } from './credential-source';
import type { Candidate } from './planned-route';
import { ownKeysFor } from './route-credentials';

/**
 * Returns an endpoint once for each key that it may be called with, in the order in which they are tried: the caller's
 * own keys, shared capacity, fallback keys. Empty if the caller's credentials forbid all of them.
 */
export function keyedCandidates(
  { model, endpoint }: Candidate,
  credentials: readonly OwnCredential[],
  scope: CredentialScope,
  isSharedAvailable: boolean,
): readonly Candidate[] {
  const keys = ownKeysFor(model, model.endpoints, credentials, scope);
  const own = keys.keysFor(endpoint).map((credential) => ({ model, endpoint, credential }));
  const shared = isSharedAvailable && keys.isSharedAllowed(endpoint) ? [{ model, endpoint, credential: null }] : [];
  return [
    ...own.filter(({ credential }) => !credential.isFallback),
    ...shared,
    ...own.filter(({ credential }) => credential.isFallback),
  ];
}

/** Returns the same candidates without keys that their provider refused a short time ago. */
export function usableCandidates(...asked: Parameters<typeof keyedCandidates>): readonly Candidate[] {
  return keyedCandidates(...asked).filter(({ credential }) => !credential?.refusedForMs);
}

/** Returns why an endpoint cannot be called, if the caller has no key that may be used for it. */
export function forbiddenByKeys({ endpoint: { provider } }: Candidate): AppError {
  return new AppError('provider_unavailable', 'The provider is not available', {
    metadata: { provider_name: provider.name },
    internal: `${provider.slug}: there is no key that may be used`,
  });
}
