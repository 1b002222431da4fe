import { Secret } from '@libs/contracts';
import type { Provider } from '../catalogue/catalogue';

/** Whose keys may be used: workspace and API key of the caller, for callers' own keys. */
export interface CredentialScope {
  readonly organizationId?: string;
  readonly workspaceId?: string;
  readonly apiKeyHash?: string;
  readonly userId?: string;
  /** True if shared capacity is never used, even if the keys allow it. Only the fee is reserved then. */
  readonly isOwnKeysOnly?: boolean;
}

/**
 * What routing knows about a caller's own provider key: everything except the key itself. A list that is null allows
 * everything.
 */
export interface OwnCredential {
  readonly id: string;
  /** Slug of the provider. A slug without a suffix also covers the regions and variants of the provider. */
  readonly provider: string;
  /** Position, from 0; the smallest is first. */
  readonly sortOrder: number;
  readonly isDisabled: boolean;
  /** Used after shared capacity only. */
  readonly isFallback: boolean;
  /** True if shared capacity of this provider is never used, for any model. */
  readonly isByokOnly: boolean;
  /** True if shared capacity is never used for the models that this credential can serve. */
  readonly isRequired: boolean;
  readonly allowedModels: readonly string[] | null;
  readonly allowedApiKeyHashes: readonly string[] | null;
  readonly allowedUserIds: readonly string[] | null;
  /** Null: the value that the catalogue has for the endpoint applies. */
  readonly declaredZdr: boolean | null;
  readonly declaredRegion: 'global' | 'europe' | 'us' | null;
  /** For how long the key is skipped because its provider refused it, in milliseconds; absent for any other key. */
  readonly refusedForMs?: number;
  /** True if the provider refused the key when it was last used. */
  readonly wasRefused?: boolean;
}

/** A provider's verdict on a key: accepted, or refused with this status. */
export type KeyVerdict = 'accepted' | 401 | 403;

/** Returns whether a provider can be called. */
export type ProviderFilter = (provider: Provider) => boolean;

const NONE: readonly OwnCredential[] = [];

/**
 * Source of provider keys. A provider whose `apiKeyEnv` is null needs no key and is always available; all others need
 * one.
 */
export abstract class CredentialSource {
  /** Returns a filter for the providers that this scope can call, to be used while a request is planned. */
  abstract availableProviders(scope: CredentialScope): ProviderFilter | Promise<ProviderFilter>;

  /** Returns the key to call this provider with; null if there is none or none is needed. */
  abstract forProvider(provider: Provider, scope: CredentialScope): Secret | null | Promise<Secret | null>;

  /** Returns the keys that callers of this scope have stored, in any order. A source of shared keys has none. */
  ownCredentials(_scope: CredentialScope): readonly OwnCredential[] | Promise<readonly OwnCredential[]> {
    return NONE;
  }

  /** Returns the key of a credential; null if it was deleted. */
  forOwnCredential(_credential: OwnCredential, _scope: CredentialScope): Secret | null | Promise<Secret | null> {
    return null;
  }

  /** Reports whether a provider accepted a caller's own key. Returns without waiting for the effect. */
  noteVerdict(_credential: OwnCredential, _key: Secret, _scope: CredentialScope, _verdict: KeyVerdict): void {
    // Shared keys have no owner to report to.
  }
}

/** A character that no header can carry, such as an ellipsis or a line break, in a key that is not a file of JSON. */
const UNSENDABLE = /^(?!\{).*[^\t\x20-\x7e\x80-\xff]/s;

/**
 * The operator's own keys, the same for every caller: the values of the environment variables in the catalogue's
 * `api_key_env`. A value that no request can carry counts as absent.
 */
export class SharedCredentials extends CredentialSource {
  readonly #secrets = new Map<string, Secret>();
  readonly #unsendable = new Set<string>();
  readonly #isAvailable: ProviderFilter = ({ apiKeyEnv }) => apiKeyEnv === null || this.#secrets.has(apiKeyEnv);

  /** `variables` from the environment; empty ones count as absent. */
  constructor(variables: Readonly<Record<string, string | undefined>>) {
    super();
    for (const [name, value] of Object.entries(variables)) {
      const key = value?.trim();
      if (!key) continue;
      if (UNSENDABLE.test(key)) this.#unsendable.add(name);
      else this.#secrets.set(name, new Secret(key));
    }
  }

  /** Returns the variables of these providers that have a value which no request can carry. */
  unsendableFor(providers: readonly Provider[]): string[] {
    const names = providers.flatMap(({ apiKeyEnv }) => apiKeyEnv ?? []).filter((name) => this.#unsendable.has(name));
    return [...new Set(names)];
  }

  override availableProviders(): ProviderFilter {
    return this.#isAvailable;
  }

  override forProvider({ apiKeyEnv }: Provider): Secret | null {
    return apiKeyEnv === null ? null : (this.#secrets.get(apiKeyEnv) ?? null);
  }
}
