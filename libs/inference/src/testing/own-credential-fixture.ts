import type { OwnCredential } from '../routing/credential-source';

/** A credential of a caller at the fixture's provider, good for all of its models, keys and users. */
export function anOwnCredential(values: Partial<OwnCredential> = {}): OwnCredential {
  return {
    id: 'own',
    provider: 'acme',
    sortOrder: 0,
    isDisabled: false,
    isFallback: false,
    isByokOnly: false,
    isRequired: false,
    allowedModels: null,
    allowedApiKeyHashes: null,
    allowedUserIds: null,
    declaredZdr: null,
    declaredRegion: null,
    ...values,
  };
}
