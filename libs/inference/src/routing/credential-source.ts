import { Secret } from '@libs/contracts';
import type { Provider } from '../catalogue/catalogue';

/** Whose keys may be used: the caller's workspace and API key, for keys that a caller brings along. */
export interface CredentialScope {
  readonly organizationId?: string;
  readonly workspaceId?: string;
  readonly apiKeyHash?: string;
  readonly userId?: string;
  /** Shared capacity is never used, whatever the keys say: the fee alone is reserved. */
  readonly isOwnKeysOnly?: boolean;
}

/**
 * What routing knows of a provider key that a caller brought along: everything but the key.
 * A list that is null restricts nothing.
 */
export interface OwnCredential {
  readonly id: string;
  /** Slug of the provider; a plain one is good for the regions and variants of the provider too. */
  readonly provider: string;
  /** From 0, smallest first. */
  readonly sortOrder: number;
  readonly isDisabled: boolean;
  /** Used after shared capacity only. */
  readonly isFallback: boolean;
  /** Shared capacity of this provider is never used, for no model. */
  readonly isByokOnly: boolean;
  /** Shared capacity is never used for the models this credential is good for. */
  readonly isRequired: boolean;
  readonly allowedModels: readonly string[] | null;
  readonly allowedApiKeyHashes: readonly string[] | null;
  readonly allowedUserIds: readonly string[] | null;
  /** Null: as the catalogue says of the endpoint. */
  readonly declaredZdr: boolean | null;
  readonly declaredRegion: 'global' | 'europe' | 'us' | null;
  /** Its provider refused the key, and it is passed over for so long; left out for any other. */
  readonly refusedForMs?: number;
  /** Its provider refused the key when it was last used. */
  readonly wasRefused?: boolean;
}

/** What a provider says of a key: it takes it, or refuses it with this status. */
export type KeyVerdict = 'accepted' | 401 | 403;

/** Says whether a provider can be called at all. */
export type ProviderFilter = (provider: Provider) => boolean;

const NONE: readonly OwnCredential[] = [];

/**
 * Where provider keys come from. A provider whose `apiKeyEnv` is null asks for no key and is always
 * available; for every other a key is needed.
 */
export abstract class CredentialSource {
  /** The providers that this scope can call, as a question to be asked while a request is planned. */
  abstract availableProviders(scope: CredentialScope): ProviderFilter | Promise<ProviderFilter>;

  /** The key to call this provider with, or null when there is none or none is needed. */
  abstract forProvider(provider: Provider, scope: CredentialScope): Secret | null | Promise<Secret | null>;

  /** The keys that callers of this scope brought along, in any order. A source of shared keys has none. */
  ownCredentials(_scope: CredentialScope): readonly OwnCredential[] | Promise<readonly OwnCredential[]> {
    return NONE;
  }

  /** The key of one of them, or null when it is gone. */
  forOwnCredential(_credential: OwnCredential, _scope: CredentialScope): Secret | null | Promise<Secret | null> {
    return null;
  }

  /** Notes whether a provider accepted the key of one of them. Returns without waiting for the effect. */
  noteVerdict(_credential: OwnCredential, _key: Secret, _scope: CredentialScope, _verdict: KeyVerdict): void {
    // Shared keys have no owner to report to.
  }
}

/** The operator's own keys, the same for every caller: the variables that the catalogue's `api_key_env` names. */
export class SharedCredentials extends CredentialSource {
  readonly #secrets = new Map<string, Secret>();
  readonly #isAvailable: ProviderFilter = ({ apiKeyEnv }) => apiKeyEnv === null || this.#secrets.has(apiKeyEnv);

  /** `variables` as the environment has them; empty ones count as absent. */
  constructor(variables: Readonly<Record<string, string | undefined>>) {
    super();
    for (const [name, value] of Object.entries(variables)) {
      const key = value?.trim();
      if (key) this.#secrets.set(name, new Secret(key));
    }
  }

  override availableProviders(): ProviderFilter {
    return this.#isAvailable;
  }

  override forProvider({ apiKeyEnv }: Provider): Secret | null {
    return apiKeyEnv === null ? null : (this.#secrets.get(apiKeyEnv) ?? null);
  }
}
