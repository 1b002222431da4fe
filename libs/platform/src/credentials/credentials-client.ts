import type { OwnCredentialRecord, Secret } from '@libs/contracts';
import type { MessageBus } from '../messaging/message-bus';
import { CredentialDirectory } from './credential-directory';
import { CredentialOpener, type CredentialOwner } from './credential-opener';

/** The credentials app, as processes use it that call providers: a `CredentialVault` of libs/inference. */
export class CredentialsClient {
  readonly #directory: CredentialDirectory;
  readonly #opener: CredentialOpener;

  constructor(bus: MessageBus) {
    this.#directory = new CredentialDirectory(bus);
    this.#opener = new CredentialOpener(bus);
  }

  /** Those in force. @throws AppError provider_overloaded while they cannot be known */
  credentialsOf(
    organizationId: string,
    workspaceId: string,
  ): readonly OwnCredentialRecord[] | Promise<readonly OwnCredentialRecord[]> {
    return this.#directory.find(organizationId, workspaceId);
  }

  /** The key of one of them; null when it is gone. */
  open(id: string, owner: CredentialOwner): Promise<Secret | null> {
    return this.#opener.open(id, owner);
  }
}
