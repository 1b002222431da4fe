import { Secret } from '@libs/contracts';
import type { Provider } from './catalogue';

/** Whose keys may be used: the caller's workspace and API key, for keys that a caller brings along. */
export interface CredentialScope {
  readonly workspaceId?: string;
  readonly apiKeyHash?: string;
}

/** Says whether a provider can be called at all. */
export type ProviderFilter = (provider: Provider) => boolean;

/**
 * Where provider keys come from. A provider whose `apiKeyEnv` is null asks for no key and is always
 * available; for every other a key is needed.
 */
export abstract class CredentialSource {
  /** The providers that this scope can call, as a question to be asked while a request is planned. */
  abstract availableProviders(scope: CredentialScope): ProviderFilter | Promise<ProviderFilter>;

  /** The key to call this provider with, or null when there is none or none is needed. */
  abstract forProvider(provider: Provider, scope: CredentialScope): Secret | null | Promise<Secret | null>;
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
