import { OpenCredential, openingPurpose, type Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { NO_FEED, type ChangeFeed } from '../feeds/change-feed';
import type { MessageBus } from '../messaging/message-bus';
import { SealingKeyPair } from '../sealing/sealing';

/** On whose behalf a key is requested. */
export interface CredentialOwner {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly apiKeyHash?: string | null;
}

export interface CredentialOpenerOptions {
  /** Changes of credentials. */
  readonly feed: ChangeFeed;
  /** How long a key in use stays in use while the credentials app is unavailable; 0: not at all. */
  readonly graceMs: number;
  readonly monotonicNowMs: () => number;
}

interface Opening {
  readonly askedAtMs: number;
  readonly key: Promise<Secret | null>;
  usedAtMs: number;
  isRenewed: boolean;
}

/** How long a key is valid after its own request; below, how long it stays in memory after its last use. */
const KEPT_FOR_MS = 750;
/**
 * From this age on the next use renews the key in the background: the credentials app must still be able to decrypt it
 * with the key service that encrypted it.
 */
const RENEWED_AFTER_MS = 60_000;
const MOST_OPEN = 20_000;

/**
 * Gets keys of credentials from the credentials app. Only the requesting process can read an answer, and only while it
 * waits: each request has its own key pair.
 *
 * A key stays in memory while it is in use and the feed reports that no credential of its workspace changed. While the
 * credentials app is unavailable, keys in use stay valid within the grace time; every other request is refused at once,
 * so that a call with an alternative can use it.
 */
export class CredentialOpener {
  readonly #bus: MessageBus;
  readonly #options: CredentialOpenerOptions;
  /** By workspace, then by credential and API key. */
  readonly #workspaces = new Map<string, Map<string, Opening>>();
  readonly #versions = new WeakMap<Secret, number>();
  readonly #refused = new WeakSet<Secret>();
  #count = 0;

  constructor(bus: MessageBus, options: Partial<CredentialOpenerOptions> = {}) {
    this.#bus = bus;
    this.#options = { feed: NO_FEED, graceMs: 0, monotonicNowMs: () => performance.now(), ...options };
    this.#options.feed.onChange((subjects) => {
      for (const workspace of subjects ?? [...this.#workspaces.keys()]) this.#forgetWorkspace(workspace);
    });
  }

  /**
   * Returns null for a credential that was deleted or is not for this caller.
   * @throws AppError if it cannot be opened
   */
  async open(id: string, owner: CredentialOwner): Promise<Secret | null> {
    const name = `${id} ${owner.apiKeyHash ?? ''}`;
    const { feed, monotonicNowMs } = this.#options;
    const known = this.#find(name, owner);
    if (known !== undefined && !this.#mayBeUsed(known, monotonicNowMs()) && !feed.isAway(monotonicNowMs())) {
      await feed.settled();
    }
    const opening = this.#find(name, owner);
    const nowMs = monotonicNowMs();
    if (opening === undefined || !this.#mayBeUsed(opening, nowMs)) return this.#keep(name, id, owner);
    opening.usedAtMs = nowMs;
    if (nowMs - opening.askedAtMs >= RENEWED_AFTER_MS) this.#renew(opening, name, id, owner);
    return opening.key;
  }

  /** Returns the version of the credential's key; undefined if the credentials app did not report one. */
  versionOf(key: Secret): number | undefined {
    return this.#versions.get(key);
  }

  /** Whether the provider had refused this key when it was asked for. */
  wasRefused(key: Secret): boolean {
    return this.#refused.has(key);
  }

  #find(name: string, { workspaceId }: CredentialOwner): Opening | undefined {
    return this.#workspaces.get(workspaceId)?.get(name);
  }

  #mayBeUsed({ askedAtMs }: Opening, nowMs: number): boolean {
    const { feed, graceMs } = this.#options;
    if (feed.isFresh(nowMs) || nowMs - askedAtMs < KEPT_FOR_MS) return true;
    return feed.isAway(nowMs) && nowMs - Math.max(askedAtMs, feed.confirmedAtMs) < graceMs;
  }

  /** Removes a key that can no longer be opened, so that the next use gets the reason. Without an answer it stays. */
  #renew(opening: Opening, name: string, id: string, owner: CredentialOwner): void {
    if (opening.isRenewed) return;
    opening.isRenewed = true;
    const askedAtMs = this.#options.monotonicNowMs();
    const renewed = this.#ask(id, owner);
    renewed.then(
      () => this.#find(name, owner) === opening && this.#put(name, owner, renewed, askedAtMs),
      () => {
        if (this.#options.feed.isFresh(this.#options.monotonicNowMs())) this.#forget(name, owner, opening);
        opening.isRenewed = false;
      },
    );
  }

  #keep(name: string, id: string, owner: CredentialOwner): Promise<Secret | null> {
    const askedAtMs = this.#options.monotonicNowMs();
    const key = this.#ask(id, owner);
    this.#put(name, owner, key, askedAtMs);
    return key;
  }

  #put(name: string, owner: CredentialOwner, key: Promise<Secret | null>, askedAtMs: number): void {
    const opening: Opening = { askedAtMs, key, usedAtMs: askedAtMs, isRenewed: false };
    const forget = (): void => this.#forget(name, owner, opening);
    this.#forget(name, owner, this.#find(name, owner));
    if (this.#count < MOST_OPEN) {
      const openings = this.#workspaces.get(owner.workspaceId) ?? new Map<string, Opening>();
      this.#workspaces.set(owner.workspaceId, openings.set(name, opening));
      this.#count += 1;
      this.#forgetUnused(opening, forget);
    }
    key.then((opened) => opened ?? forget(), forget);
  }

  /** Removes the key if it has not been used for a while. */
  #forgetUnused(opening: Opening, forget: () => void): void {
    const leftMs = KEPT_FOR_MS - (this.#options.monotonicNowMs() - opening.usedAtMs);
    if (leftMs <= 0) forget();
    else setTimeout(() => this.#forgetUnused(opening, forget), leftMs).unref();
  }

  #forget(name: string, { workspaceId }: CredentialOwner, opening: Opening | undefined): void {
    const openings = this.#workspaces.get(workspaceId);
    if (opening === undefined || openings?.get(name) !== opening) return;
    openings.delete(name);
    this.#count -= 1;
    if (openings.size === 0) this.#workspaces.delete(workspaceId);
  }

  #forgetWorkspace(workspaceId: string): void {
    this.#count -= this.#workspaces.get(workspaceId)?.size ?? 0;
    this.#workspaces.delete(workspaceId);
  }

  async #ask(id: string, owner: CredentialOwner): Promise<Secret | null> {
    if (this.#options.feed.isAway(this.#options.monotonicNowMs())) throw unavailable('cannot be asked');
    try {
      return await this.#receive(id, owner);
    } catch (thrown) {
      const error = AppError.from(thrown);
      if (error.code === 'not_found') return null;
      throw error.code === 'timeout' ? unavailable('gave no answer', error) : error;
    }
  }

  async #receive(id: string, { organizationId, workspaceId, apiKeyHash = null }: CredentialOwner): Promise<Secret> {
    const pair = SealingKeyPair.generate();
    const question = { id, organizationId, workspaceId, apiKeyHash, recipient: pair.publicKey };
    const { sealedKey, keyVersion, wasRefused } = await this.#bus.call(OpenCredential, question);
    const key = await pair.open(sealedKey, openingPurpose(id));
    if (keyVersion !== undefined) this.#versions.set(key, keyVersion);
    if (wasRefused === true) this.#refused.add(key);
    return key;
  }
}

function unavailable(reason: string, cause?: unknown): AppError {
  return new AppError('unavailable', 'The provider key cannot be opened now', {
    retryAfterSeconds: 1,
    internal: `the credentials app ${reason}`,
    cause,
  });
}
