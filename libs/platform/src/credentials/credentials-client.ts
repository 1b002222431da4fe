import type { OwnCredentialRecord, Secret } from '@libs/contracts';
import { NO_FEED, type ChangeFeed } from '../feeds/change-feed';
import type { MessageBus } from '../messaging/message-bus';
import { CredentialDirectory } from './credential-directory';
import { CredentialOpener, type CredentialOwner } from './credential-opener';
import { KeyVerdicts } from './key-verdicts';

export interface CredentialsClientOptions {
  /** Changes of credentials; without it every answer is good for three quarters of a second. */
  readonly feed?: ChangeFeed;
  /** For how long keys in use stay in use while the credentials app cannot be asked; 0: not at all. */
  readonly graceMs?: number;
  readonly monotonicNowMs?: () => number;
  /** Given each credential whose key is handed out, with the organization that it belongs to. */
  readonly onUse?: (organizationId: string, id: string) => void;
}

/** For how long at least the lists, which hold no keys, are used while the credentials app cannot be asked. */
const LEAST_LIST_GRACE_MS = 300_000;

/** The credentials app, as processes use it that call providers: a `CredentialVault` of libs/inference. */
export class CredentialsClient {
  readonly #directory: CredentialDirectory;
  readonly #opener: CredentialOpener;
  readonly #verdicts: KeyVerdicts;
  readonly #onUse: (organizationId: string, id: string) => void;

  constructor(bus: MessageBus, options: CredentialsClientOptions = {}) {
    const { feed = NO_FEED, graceMs = 0, monotonicNowMs = () => performance.now(), onUse = () => {} } = options;
    this.#onUse = onUse;
    const listGraceMs = Math.max(LEAST_LIST_GRACE_MS, graceMs);
    this.#directory = new CredentialDirectory(bus, { feed, graceMs: listGraceMs, monotonicNowMs });
    this.#opener = new CredentialOpener(bus, { feed, graceMs, monotonicNowMs });
    this.#verdicts = new KeyVerdicts(bus, monotonicNowMs);
  }

  /** Those in force. @throws AppError unavailable while they cannot be known */
  credentialsOf(
    organizationId: string,
    workspaceId: string,
  ): readonly OwnCredentialRecord[] | Promise<readonly OwnCredentialRecord[]> {
    return this.#directory.find(organizationId, workspaceId);
  }

  /** The key of one of them; null when it is gone. */
  async open(id: string, owner: CredentialOwner): Promise<Secret | null> {
    const key = await this.#opener.open(id, owner);
    if (key !== null) this.#onUse(owner.organizationId, id);
    return key;
  }

  /** Whether a key that `open` gave had been refused by its provider: only then it is news that it is taken. */
  wasRefused(key: Secret): boolean {
    return this.#opener.wasRefused(key);
  }

  /** Reports to the credentials app whether a provider accepted a key that `open` gave. Does not wait for an answer. */
  noteVerdict(
    id: string,
    { organizationId, workspaceId }: Pick<CredentialOwner, 'organizationId' | 'workspaceId'>,
    key: Secret,
    verdict: 'accepted' | 401 | 403,
  ): void {
    const keyVersion = this.#opener.versionOf(key);
    if (keyVersion === undefined) return;
    const refusedWith = verdict === 'accepted' ? null : verdict;
    this.#verdicts.note({ id, organizationId, workspaceId, keyVersion, refusedWith });
  }
}
