import type { Endpoint, Model } from '../catalogue/catalogue-entries';
import type { CredentialScope, OwnCredential } from './credential-source';
import { isModelAmong, isSlugOf } from './route-names';

/** The enabled keys of a caller for one model, and whether they allow shared capacity. */
export interface OwnKeys {
  /** Returns the keys in the order of `sortOrder`. */
  keysFor(endpoint: Endpoint): readonly OwnCredential[];
  isSharedAllowed(endpoint: Endpoint): boolean;
}

const noKeys = ({ isOwnKeysOnly }: CredentialScope): OwnKeys => ({
  keysFor: () => [],
  isSharedAllowed: () => isOwnKeysOnly !== true,
});

/**
 * Applies the restrictions and demands of credentials. `is_byok_only` excludes the provider's shared capacity for every
 * model; `is_required` excludes all shared capacity for the models that the credential can serve. Disabled credentials,
 * and those for other API keys or users, have no effect.
 */
export function ownKeysFor(
  model: Model,
  endpoints: readonly Endpoint[],
  credentials: readonly OwnCredential[],
  scope: CredentialScope,
): OwnKeys {
  if (credentials.length === 0) return noKeys(scope);
  const valid = credentials.filter((credential) => isForCaller(credential, scope));
  if (valid.length === 0) return noKeys(scope);
  const usable = valid
    .filter(({ allowedModels }) => allowedModels === null || isModelAmong(model, allowedModels))
    .toSorted((a, b) => a.sortOrder - b.sortOrder);
  const isRequired =
    scope.isOwnKeysOnly === true ||
    usable.some((key) => key.isRequired && endpoints.some((endpoint) => isKeyFor(key, endpoint)));
  return {
    keysFor: (endpoint) => usable.filter((key) => isKeyFor(key, endpoint)),
    isSharedAllowed: (endpoint) => !isRequired && !valid.some((key) => key.isByokOnly && isKeyFor(key, endpoint)),
  };
}

/** Returns whether a key may be used for a caller at all, for any model. */
export function isForCaller(credential: OwnCredential, { apiKeyHash, userId }: CredentialScope): boolean {
  const { isDisabled, allowedApiKeyHashes, allowedUserIds } = credential;
  return !isDisabled && isAmong(apiKeyHash, allowedApiKeyHashes) && isAmong(userId, allowedUserIds);
}

function isAmong(value: string | undefined, allowed: readonly string[] | null): boolean {
  return allowed === null || (value !== undefined && allowed.includes(value));
}

function isKeyFor({ provider }: OwnCredential, endpoint: Endpoint): boolean {
  return isSlugOf(endpoint.provider, provider);
}
