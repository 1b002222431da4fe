import type { KeyObject } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { AppError } from '@libs/errors';
import { SharedPool } from '@libs/contracts';
import type { KeySource } from './issuer-documents';
import { chooseKey, type VerificationKey } from './key-set';
import type { SignatureAlgorithm } from './subject-token';

export interface TokenIssuer extends KeySource {
  readonly id: string;
}

export interface IssuerKeySetsOptions {
  readonly fetchKeys: (source: KeySource) => Promise<readonly VerificationKey[]>;
  /** Monotonic milliseconds. */
  readonly nowMs?: () => number;
}

const FRESH_FOR_MS = 600_000;
/** How long fetched keys may be used while their issuer does not answer. */
const USABLE_FOR_MS = 3_600_000;
/** Least time between two fetches for a key that is not in the set. */
const LOOK_AGAIN_MS = 30_000;
/** Shortest time between two fetches while there is no key set at all. */
const TRY_AGAIN_MS = 5_000;
/** Most cached keys, plus one for each issuer. A key takes some kilobytes. */
const MOST_KEPT = 5_000;
/** Most concurrent fetches. One organization gets at most half, so that some are left for others. */
const MOST_FETCHES = 64;
/**
 * Most tokens that wait for fetches, shared in the same way; fewer than the exchanges that this process accepts at
 * once.
 */
const MOST_WAITING = 256;
const WEIGHTS = [1] as const;

/** The cached keys of one issuer. */
interface KnownKeys {
  readonly organizationId: string;
  /** Its share of the cached total; 0 after it was removed. */
  kept: number;
  keys: readonly VerificationKey[];
  fetchedAtMs: number;
  mayFetchAtMs: number;
  lastTryFailed: boolean;
  fetching: Promise<void> | null;
}

/**
 * Caches the keys of issuers for ten minutes, so that a key that its issuer withdraws stops working within that time.
 *
 * A token with an unknown key name causes another fetch, at most once in thirty seconds for all such tokens, so that
 * invented key names cannot make us flood an issuer. If a fetch fails or returns no keys, the previous set stays in
 * use, for at most an hour in total.
 */
export class IssuerKeySets {
  private readonly logger = new Logger(IssuerKeySets.name);
  /** In order of last use, the oldest first. */
  private readonly known = new Map<string, KnownKeys>();
  private kept = 0;
  private readonly keptBy = new Map<string, number>();
  private readonly nowMs: () => number;
  private readonly fetches = new SharedPool(MOST_FETCHES, WEIGHTS);
  private readonly waiting = new SharedPool(MOST_WAITING, WEIGHTS);

  constructor(private readonly options: IssuerKeySetsOptions) {
    this.nowMs = options.nowMs ?? (() => performance.now());
  }

  /**
   * Returns the issuer's key that a token names; null if the issuer has no such key.
   * @throws AppError provider_unavailable if the issuer's keys cannot be fetched, or if its organization waits for too
   * many keys of slow issuers and this one is not cached
   */
  async find(
    issuer: TokenIssuer,
    token: { readonly keyId: string | null; readonly algorithm: SignatureAlgorithm },
  ): Promise<KeyObject | null> {
    const entry = this.entryOf(issuer);
    const isFresh = this.ageOf(entry) < FRESH_FOR_MS;
    const key = isFresh ? chooseKey(entry.keys, token) : null;
    if (key !== null) return key;
    const isUpToDate = await this.fetchIfDue(entry, issuer);
    if (this.ageOf(entry) >= USABLE_FOR_MS) throw unavailable();
    const found = chooseKey(entry.keys, token);
    if (found === null && (entry.lastTryFailed || !isUpToDate)) throw unavailable();
    return found;
  }

  private ageOf({ fetchedAtMs }: KnownKeys): number {
    return this.nowMs() - fetchedAtMs;
  }

  private entryOf({ id, organizationId, issuerUrl, jwksUrl }: TokenIssuer): KnownKeys {
    const name = JSON.stringify([id, issuerUrl, jwksUrl]);
    const entry = this.known.get(name) ?? {
      organizationId,
      kept: 0,
      keys: [],
      fetchedAtMs: Number.NEGATIVE_INFINITY,
      mayFetchAtMs: Number.NEGATIVE_INFINITY,
      lastTryFailed: false,
      fetching: null,
    };
    this.known.delete(name);
    this.known.set(name, entry);
    if (entry.kept === 0) this.keep(entry);
    return entry;
  }

  /** Counts a cached entry, and removes others if there are too many. */
  private keep(entry: KnownKeys): void {
    this.recount(entry, 1 + entry.keys.length);
    while (this.kept > MOST_KEPT) this.forgetOne();
  }

  /**
   * Removes an entry of the organization with the most keys: one with very many issuers displaces its own, not those of
   * others.
   */
  private forgetOne(): void {
    const [most] = [...this.keptBy].reduce((one, other) => (other[1] > one[1] ? other : one));
    for (const [name, entry] of this.known) {
      if (entry.organizationId !== most) continue;
      this.known.delete(name);
      return this.recount(entry, 0);
    }
  }

  private recount(entry: KnownKeys, kept: number): void {
    const more = kept - entry.kept;
    const sum = (this.keptBy.get(entry.organizationId) ?? 0) + more;
    entry.kept = kept;
    this.kept += more;
    if (sum === 0) this.keptBy.delete(entry.organizationId);
    else this.keptBy.set(entry.organizationId, sum);
  }

  /** Fetches if due. Concurrent callers share one fetch. Returns false if there is no slot for it. */
  private async fetchIfDue(entry: KnownKeys, issuer: TokenIssuer): Promise<boolean> {
    if (entry.fetching === null && this.nowMs() < entry.mayFetchAtMs) return true;
    const holders = [issuer.organizationId];
    if (!this.waiting.take(holders)) return false;
    try {
      const fetching = entry.fetching ?? this.beginFetch(entry, issuer);
      await fetching;
      return fetching !== null;
    } finally {
      this.waiting.give(holders);
    }
  }

  private beginFetch(entry: KnownKeys, issuer: TokenIssuer): Promise<void> | null {
    const holders = [issuer.organizationId];
    if (!this.fetches.take(holders)) return null;
    entry.fetching = this.fetch(entry, issuer).finally(() => {
      entry.fetching = null;
      this.fetches.give(holders);
    });
    return entry.fetching;
  }

  private async fetch(entry: KnownKeys, issuer: TokenIssuer): Promise<void> {
    try {
      entry.keys = await this.options.fetchKeys(issuer);
      entry.fetchedAtMs = this.nowMs();
      entry.lastTryFailed = false;
      if (entry.kept > 0) this.keep(entry);
    } catch (error) {
      this.logger.warn('The keys of an issuer cannot be had', { issuerId: issuer.id, err: error });
      entry.lastTryFailed = true;
    }
    const hasKeys = this.ageOf(entry) < USABLE_FOR_MS;
    entry.mayFetchAtMs = this.nowMs() + (hasKeys ? LOOK_AGAIN_MS : TRY_AGAIN_MS);
  }
}

function unavailable(): AppError {
  return new AppError('provider_unavailable', 'The keys of the issuer cannot be had', { retryAfterSeconds: 5 });
}
