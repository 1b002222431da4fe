import type { OwnCredentialRecord, Secret } from '@libs/contracts';
import { NO_FEED, type ChangeFeed } from '../feeds/change-feed';
import type { MessageBus } from '../messaging/message-bus';
import { CredentialDirectory } from './credential-directory';
import { CredentialOpener, type CredentialOwner } from './credential-opener';
import { KeyVerdicts } from './key-verdicts';

export interface CredentialsClientOptions {
  /** Changes of credentials; without the feed every answer is valid for three quarters of a second. */
  readonly feed?: ChangeFeed;
  /** How long keys in use stay in use while the credentials app is unavailable; 0: not at all. */
  readonly graceMs?: number;
  readonly monotonicNowMs?: () => number;
  /** Called with each credential whose key is returned, and the organization to which it belongs. */
  readonly onUse?: (organizationId: string, id: string) => void;
}

/** How long at least the lists, which contain no keys, are used while the credentials app is unavailable. */
const LEAST_LIST_GRACE_MS = 300_000;

/** Client of the credentials app for processes that call providers: a `CredentialVault` of libs/inference. */
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

  /** Returns the enabled credentials. @throws AppError unavailable while they are unknown */
  credentialsOf(
    organizationId: string,
    workspaceId: string,
  ): readonly OwnCredentialRecord[] | Promise<readonly OwnCredentialRecord[]> {
    return this.#directory.find(organizationId, workspaceId);
  }

  /** Returns the key of a credential; null if it was deleted. */
  async open(id: string, owner: CredentialOwner): Promise<Secret | null> {
    const key = await this.#opener.open(id, owner);
    if (key !== null) this.#onUse(owner.organizationId, id);
    return key;
  }

  /** Whether a key that `open` gave had been refused by its provider: only then it is news that it is taken. */
  wasRefused(key: Secret): boolean {
    return this.#opener.wasRefused(key);
  }

  /**
   * Reports to the credentials app whether a provider accepted a key that `open` returned. Does not wait for an answer.
   */
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
