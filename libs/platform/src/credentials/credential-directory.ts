import { FindOwnCredentials, type OwnCredentialRecord } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { NO_FEED, type ChangeFeed } from '../feeds/change-feed';
import { FeedCache } from '../feeds/feed-cache';
import type { MessageBus } from '../messaging/message-bus';

export interface CredentialDirectoryOptions {
  /** Changes of credentials. */
  readonly feed: ChangeFeed;
  /** How long confirmed data may be used while the credentials app is unavailable. */
  readonly graceMs: number;
  readonly maxEntries: number;
  /** Most concurrent lookups; more are refused. */
  readonly maxLookups: number;
  readonly monotonicNowMs: () => number;
}

interface Known {
  readonly credentials: readonly OwnCredentialRecord[];
  readonly askedAtMs: number;
  /** True if one of them is skipped for a time, which is counted down here. */
  readonly hasRefused: boolean;
}

const DEFAULTS: CredentialDirectoryOptions = {
  feed: NO_FEED,
  graceMs: 300_000,
  maxEntries: 20_000,
  maxLookups: 1_000,
  monotonicNowMs: () => performance.now(),
};

/** A second safeguard: a change that went unnoticed is found after this time at the latest. */
const MAX_AGE_MS = 3_600_000;

/**
 * Which credentials workspaces have, without the keys, as the credentials app last answered and its feed of changes
 * confirms.
 *
 * While the credentials app is unavailable, known data of a workspace stays in use for five minutes. The keys
 * themselves expire sooner: see `CredentialOpener`. Requests of an unknown workspace are refused, because it may allow
 * only its own keys.
 */
export class CredentialDirectory {
  readonly #bus: MessageBus;
  readonly #nowMs: () => number;
  /** By workspace; requested on behalf of its organization. */
  readonly #cache: FeedCache<Known, string>;

  constructor(bus: MessageBus, options: Partial<CredentialDirectoryOptions> = {}) {
    const { feed, ...bounds } = { ...DEFAULTS, ...options };
    this.#bus = bus;
    this.#nowMs = bounds.monotonicNowMs;
    this.#cache = new FeedCache<Known, string>(
      feed,
      (workspaceId, organizationId) => this.#read(organizationId, workspaceId),
      {
        ...bounds,
        maxAgeMs: MAX_AGE_MS,
        subjectsOf: (workspaceId) => [workspaceId],
        isOver: () => false,
        refusal: unavailable,
      },
    );
  }

  /**
   * Returns the enabled credentials at once if they are known, else a promise.
   * @throws AppError unavailable, at once or by the promise
   */
  find(
    organizationId: string,
    workspaceId: string,
  ): readonly OwnCredentialRecord[] | Promise<readonly OwnCredentialRecord[]> {
    const found = this.#cache.find(workspaceId, organizationId);
    return found instanceof Promise ? found.then((known) => this.#agedOf(known!)) : this.#agedOf(found);
  }

  async #read(organizationId: string, workspaceId: string): Promise<Known> {
    const askedAtMs = this.#nowMs();
    const credentials = await this.#readAll(organizationId, workspaceId);
    const hasRefused = credentials.some(({ refusedForMs }) => refusedForMs !== undefined);
    return { credentials, askedAtMs, hasRefused };
  }

  /** Returns the credentials, with `refusedForMs` reduced by the time since the answer. */
  #agedOf({ credentials, askedAtMs, hasRefused }: Known): readonly OwnCredentialRecord[] {
    if (!hasRefused) return credentials;
    const agedMs = this.#nowMs() - askedAtMs;
    return credentials.map(({ refusedForMs = 0, ...credential }) =>
      refusedForMs > agedMs ? { ...credential, refusedForMs: Math.ceil(refusedForMs - agedMs) } : credential,
    );
  }

  /** Joins the answers for a workspace whose credentials do not fit into one message. */
  async #readAll(organizationId: string, workspaceId: string): Promise<readonly OwnCredentialRecord[]> {
    const all: OwnCredentialRecord[] = [];
    for (;;) {
      const request = { organizationId, workspaceId, offset: all.length };
      const { credentials, totalCount } = await this.#bus.call(FindOwnCredentials, request);
      all.push(...credentials);
      if (credentials.length === 0 || all.length >= totalCount) return all;
    }
  }
}

function unavailable(reason: string, cause?: unknown): AppError {
  return new AppError('unavailable', 'The provider keys of the workspace cannot be looked up', {
    retryAfterSeconds: 1,
    internal: `own credentials: ${reason}`,
    cause,
  });
}
