import { VerifyKey, type Principal, type VerifyKeyRequest } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { NO_FEED, type ChangeFeed } from '../feeds/change-feed';
import { FeedCache } from '../feeds/feed-cache';
import type { MessageBus } from '../messaging/message-bus';

export interface KeyDirectoryOptions {
  /** Changes of keys and workspaces. */
  readonly feed: ChangeFeed;
  /** How long confirmed keys are used while the auth app is unavailable; 0: not at all. */
  readonly graceMs: number;
  readonly maxEntries: number;
  /** Most concurrent lookups; more are refused as overload. */
  readonly maxLookups: number;
  /** Called with each principal that is found. Called for every request, so it must cost nothing. */
  readonly onUse: (principal: Principal) => void;
  /** Monotonic milliseconds, from the same clock as the feed. */
  readonly monotonicNowMs: () => number;
  /** Milliseconds since the epoch, to judge expiry. */
  readonly wallNowMs: () => number;
}

interface Known {
  readonly principal: Principal;
  readonly expiresAtMs: number;
}

const DEFAULTS: KeyDirectoryOptions = {
  feed: NO_FEED,
  graceMs: 0,
  maxEntries: 20_000,
  maxLookups: 1_000,
  onUse: () => {},
  monotonicNowMs: () => performance.now(),
  wallNowMs: () => Date.now(),
};

const NEVER = Number.POSITIVE_INFINITY;
/** A second safeguard: a change that went unnoticed is found after this time at the latest. */
const MAX_AGE_MS = 3_600_000;

/** Precedes the hash of a record, because the same hash may be that of a secret which no longer works. */
const OF_RECORD = 'record ';

type By = NonNullable<VerifyKeyRequest['by']>;

/**
 * Finds the principal of a key hash, as the auth app last answered and its feed of changes confirms.
 *
 * While the auth app is available, a revoked key stops working within a second in every process, even if events are
 * lost: see `FeedFollower`. Only principals are cached. Unknown hashes are looked up every time, so a new key works at
 * once and invented keys fill no memory.
 */
export class KeyDirectory {
  readonly #cache: FeedCache<Known, By>;
  readonly #onUse: (principal: Principal) => void;

  constructor(bus: MessageBus, options: Partial<KeyDirectoryOptions> = {}) {
    const { feed, wallNowMs, onUse, ...bounds } = { ...DEFAULTS, ...options };
    this.#onUse = onUse;
    const read = async (name: string, by: By): Promise<Known | null> => {
      const keyHash = by === 'record' ? name.slice(OF_RECORD.length) : name;
      const { principal } = await bus.call(VerifyKey, { keyHash, by });
      return principal && { principal, expiresAtMs: expiryOf(principal) };
    };
    this.#cache = new FeedCache<Known, By>(feed, read, {
      ...bounds,
      maxAgeMs: MAX_AGE_MS,
      // The feed reports the record of a key, whichever of its secrets was used to find it.
      subjectsOf: (_name, { principal: { keyHash, workspaceId } }) =>
        workspaceId === null ? [keyHash] : [keyHash, workspaceId],
      isOver: ({ expiresAtMs }) => expiresAtMs !== NEVER && expiresAtMs <= wallNowMs(),
      refusal: unavailable,
    });
  }

  /**
   * Returns the principal of a secret at once when it is known, a promise when it must be asked for; null for no usable
   * key.
   *
   * @param secretHash of the key as a caller presents it
   * @throws AppError unavailable while the key cannot be judged, at once or by the promise
   */
  find(secretHash: string): Principal | Promise<Principal | null> {
    return this.#find(secretHash, 'secret');
  }

  /**
   * Finds the principal of a key that a batch or an access token names by its record: it stays the same key when its
   * secret is rotated.
   */
  findRecord(keyHash: string): Principal | Promise<Principal | null> {
    return this.#find(OF_RECORD + keyHash, 'record');
  }

  #find(name: string, by: By): Principal | Promise<Principal | null> {
    const found = this.#cache.find(name, by);
    return found instanceof Promise ? found.then((known) => known && this.#used(known)) : this.#used(found);
  }

  #used({ principal }: Known): Principal {
    this.#onUse(principal);
    return principal;
  }
}

function expiryOf({ expiresAt }: Principal): number {
  return expiresAt === null ? NEVER : Date.parse(expiresAt);
}

function unavailable(reason: string, cause?: unknown): AppError {
  return new AppError('unavailable', 'The API key cannot be checked now', {
    retryAfterSeconds: 1,
    internal: `access: ${reason}`,
    cause,
  });
}
