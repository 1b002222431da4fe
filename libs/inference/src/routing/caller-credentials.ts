import type { Secret } from '@libs/contracts';
import type { Provider } from '../catalogue/catalogue';
import {
  CredentialSource,
  type CredentialScope,
  type KeyVerdict,
  type OwnCredential,
  type ProviderFilter,
} from './credential-source';

/** Where callers' own provider keys are stored. */
export interface CredentialVault {
  /** Returns the enabled credentials of a workspace, in any order. */
  credentialsOf(
    organizationId: string,
    workspaceId: string,
  ): readonly OwnCredential[] | Promise<readonly OwnCredential[]>;

  /** Returns the key of a credential; null if it was deleted or is not for this caller. */
  open(
    id: string,
    owner: { readonly organizationId: string; readonly workspaceId: string; readonly apiKeyHash?: string },
  ): Promise<Secret | null>;

  /** Reports whether the provider accepted a key that `open` returned. Returns at once and never throws. */
  noteVerdict(
    id: string,
    owner: { readonly organizationId: string; readonly workspaceId: string },
    key: Secret,
    verdict: KeyVerdict,
  ): void;
}

const NONE: readonly OwnCredential[] = [];

/** Source of the operator's keys and, in addition, of the callers' own keys. */
export class CallerCredentials extends CredentialSource {
  readonly #shared: CredentialSource;
  readonly #vault: CredentialVault;

  constructor(shared: CredentialSource, vault: CredentialVault) {
    super();
    this.#shared = shared;
    this.#vault = vault;
  }

  override availableProviders(scope: CredentialScope): ProviderFilter | Promise<ProviderFilter> {
    return this.#shared.availableProviders(scope);
  }

  override forProvider(provider: Provider, scope: CredentialScope): Secret | null | Promise<Secret | null> {
    return this.#shared.forProvider(provider, scope);
  }

  override ownCredentials({
    organizationId,
    workspaceId,
  }: CredentialScope): readonly OwnCredential[] | Promise<readonly OwnCredential[]> {
    if (organizationId === undefined || workspaceId === undefined) return NONE;
    return this.#vault.credentialsOf(organizationId, workspaceId);
  }

  override async forOwnCredential(
    { id }: OwnCredential,
    { organizationId, workspaceId, apiKeyHash }: CredentialScope,
  ): Promise<Secret | null> {
    if (organizationId === undefined || workspaceId === undefined) return null;
    return this.#vault.open(id, { organizationId, workspaceId, apiKeyHash });
  }

  override noteVerdict(
    { id }: OwnCredential,
    key: Secret,
    { organizationId, workspaceId }: CredentialScope,
    verdict: KeyVerdict,
  ): void {
    if (organizationId === undefined || workspaceId === undefined) return;
    this.#vault.noteVerdict(id, { organizationId, workspaceId }, key, verdict);
  }
}
