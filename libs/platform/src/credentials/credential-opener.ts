import { OpenCredential, openingPurpose, type Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { MessageBus } from '../messaging/message-bus';
import { SealingKeyPair } from '../sealing/sealing';

/** In whose name a key is asked for. */
export interface CredentialOwner {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly apiKeyHash?: string | null;
}

interface Opening {
  readonly askedAtMs: number;
  readonly key: Promise<Secret | null>;
  isRenewed: boolean;
}

/**
 * Within which a key that was taken back is used nowhere any more. A burst of calls with one key asks once; what
 * is longer in memory than this is in use.
 */
const KEPT_FOR_MS = 750;
/** From this age on the next call that uses a key has it asked for anew, and waits for nothing. */
const RENEWED_AFTER_MS = 400;

/**
 * Gets keys of credentials from the credentials app. Each question has a key pair of its own, so its answer can
 * be read by this process, while it waits for it, and never again by anybody.
 *
 * While the credentials app gives no answers one question at a time finds out whether it is back; who asks
 * beside it is refused at once, so that a call that has another way takes it.
 */
export class CredentialOpener {
  readonly #bus: MessageBus;
  readonly #nowMs: () => number;
  readonly #openings = new Map<string, Opening>();
  readonly #versions = new WeakMap<Secret, number>();
  readonly #refused = new WeakSet<Secret>();
  #isAway = false;
  #waiting = 0;

  constructor(bus: MessageBus, monotonicNowMs: () => number = () => performance.now()) {
    this.#bus = bus;
    this.#nowMs = monotonicNowMs;
  }

  /** Null for a credential that is no longer there or not for this caller. @throws AppError when it cannot be opened */
  open(id: string, owner: CredentialOwner): Promise<Secret | null> {
    const name = `${id} ${owner.workspaceId} ${owner.apiKeyHash ?? ''}`;
    const askedAtMs = this.#nowMs();
    const known = this.#openings.get(name);
    if (known === undefined || askedAtMs - known.askedAtMs >= KEPT_FOR_MS) {
      return this.#keep(name, askedAtMs, this.#ask(id, owner));
    }
    if (!known.isRenewed && askedAtMs - known.askedAtMs >= RENEWED_AFTER_MS) {
      known.isRenewed = true;
      const renewed = this.#ask(id, owner);
      // Without an answer, who comes when the key is too old asks again and is told why.
      renewed.then(
        () => this.#keep(name, askedAtMs, renewed),
        () => undefined,
      );
    }
    return known.key;
  }

  #keep(name: string, askedAtMs: number, key: Promise<Secret | null>): Promise<Secret | null> {
    const opening = { askedAtMs, key, isRenewed: false };
    this.#openings.set(name, opening);
    const forget = (): void => {
      if (this.#openings.get(name) === opening) this.#openings.delete(name);
    };
    // Also while nobody asks: a key is not left lying around.
    setTimeout(forget, KEPT_FOR_MS - (this.#nowMs() - askedAtMs)).unref();
    key.then((opened) => opened ?? forget(), forget);
    return key;
  }

  /** Which of the keys of its credential this one is; undefined where the credentials app did not say. */
  versionOf(key: Secret): number | undefined {
    return this.#versions.get(key);
  }

  /** Whether the provider had refused this key when it was asked for. */
  wasRefused(key: Secret): boolean {
    return this.#refused.has(key);
  }

  async #ask(id: string, owner: CredentialOwner): Promise<Secret | null> {
    if (this.#isAway && this.#waiting > 0) {
      throw new AppError('timeout', 'The request took too long', { internal: 'the credentials app gives no answers' });
    }
    this.#waiting += 1;
    try {
      const key = await this.#receive(id, owner);
      this.#isAway = false;
      return key;
    } catch (thrown) {
      const error = AppError.from(thrown);
      this.#isAway = error.code === 'timeout';
      if (error.code === 'not_found') return null;
      throw error;
    } finally {
      this.#waiting -= 1;
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
