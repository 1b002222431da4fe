import { AppError } from '@libs/errors';
import type { ChangeFeed } from './change-feed';

export interface FeedCacheOptions<V extends object> {
  /** Returns the rows that a value is made from: if one of these changes, the value is read again. */
  readonly subjectsOf: (key: string, value: V) => readonly string[];
  /** Whether a value has ended by itself, by the clock on the wall. */
  readonly isOver: (value: V) => boolean;
  /** Returns the error for a caller whose value cannot be known now. */
  readonly refusal: (reason: string, cause?: unknown) => AppError;
  /** How long confirmed values are used while their owner is unavailable; 0: not at all. */
  readonly graceMs: number;
  readonly maxEntries: number;
  /** Most concurrent lookups; more are refused. */
  readonly maxLookups: number;
  /** Age at which a value is read again even if no change was reported. */
  readonly maxAgeMs: number;
  readonly monotonicNowMs: () => number;
}

interface Entry<V> {
  readonly value: V;
  readonly subjects: readonly string[];
  readonly askedAtMs: number;
  /** Moment of the feed when the request was sent. */
  readonly moment: number;
  readonly dueAtMs: number;
  usedAtMs: number;
}

interface Lookup<V> {
  readonly key: string;
  readonly askedAtMs: number;
  readonly answer: PromiseWithResolvers<V | null>;
}

/** How long an answer is valid after its own request, whatever the feed reports. */
const FRESH_FOR_MS = 750;
/** Most requests of the feed to await until one ends that was sent after the call began. */
const MOST_LOOKS = 5;
/** An entry moves to the end of the removal order at most this often. */
const USE_NOTED_EVERY_MS = 10_000;

/**
 * Caches rows of another app until its feed reports that they changed.
 *
 * A value is used while the feed is fresh, or for a short time after its own request. A value is not kept if its rows
 * changed between its request and its answer. Null, which means that there is no such row, is never kept. While the
 * owner is unavailable, values that were confirmed within the grace time stay in use, and every other lookup is refused
 * at once.
 */
export class FeedCache<V extends object, C = undefined> {
  /** Approximately in the order of their last use, the oldest first. */
  readonly #entries = new Map<string, Entry<V>>();
  readonly #keysOf = new Map<string, Set<string>>();
  /** Lookups in progress that further callers with the same key may join. */
  readonly #lookups = new Map<string, Lookup<V>>();
  readonly #running = new Set<Lookup<V>>();

  constructor(
    private readonly feed: ChangeFeed,
    private readonly read: (key: string, context: C) => Promise<V | null>,
    private readonly options: FeedCacheOptions<V>,
  ) {
    feed.onChange((subjects) => this.#forget(subjects));
    feed.onAway(() => this.#endLookups());
  }

  get size(): number {
    return this.#entries.size;
  }

  /**
   * Returns the value at once if it is known, else a promise.
   * @param context everything that is needed to read the value besides its key
   * @throws AppError the refusal, at once or by the promise
   */
  find(key: string, context: C): V | Promise<V | null> {
    const nowMs = this.options.monotonicNowMs();
    const entry = this.#entries.get(key);
    if (entry === undefined) return this.#ask(key, context, nowMs);
    if (this.options.isOver(entry.value)) return this.#askOver(key, context, nowMs);
    if (this.#mayBeUsed(entry, nowMs)) return this.#use(key, context, entry, nowMs);
    if (this.feed.isAway(nowMs)) throw this.options.refusal('its owner cannot be asked');
    return this.#findSettled(key, context, nowMs);
  }

  /**
   * Tries again after the feed could report that nothing changed since the call began. If its answers take long, one
   * feed request confirms all known values; a separate request for each would make answers take longer.
   */
  async #findSettled(key: string, context: C, sinceMs: number): Promise<V | null> {
    for (let looks = 0; looks < MOST_LOOKS; looks += 1) {
      await this.feed.settled();
      const nowMs = this.options.monotonicNowMs();
      const entry = this.#entries.get(key);
      if (entry === undefined || this.feed.isAway(nowMs)) break;
      if (this.feed.confirmedAtMs >= sinceMs && !this.options.isOver(entry.value)) return entry.value;
      if (this.#mayBeUsed(entry, nowMs)) break;
    }
    const nowMs = this.options.monotonicNowMs();
    const entry = this.#entries.get(key);
    if (entry !== undefined && this.#mayBeUsed(entry, nowMs)) return this.#use(key, context, entry, nowMs);
    return this.#ask(key, context, nowMs);
  }

  /** Looks up a value that has expired: null at once while the owner is unavailable, else the owner's answer. */
  #askOver(key: string, context: C, nowMs: number): Promise<V | null> {
    if (this.feed.isAway(nowMs)) return Promise.resolve(null);
    this.#drop(key, this.#entries.get(key)!);
    return this.#ask(key, context, nowMs);
  }

  #mayBeUsed(entry: Entry<V>, nowMs: number): boolean {
    if (this.options.isOver(entry.value)) return false;
    if (this.feed.isFresh(nowMs) || nowMs - entry.askedAtMs < FRESH_FOR_MS) return true;
    return this.feed.isAway(nowMs) && this.#isWithinGrace(entry, nowMs);
  }

  #isWithinGrace({ askedAtMs }: Entry<V>, nowMs: number): boolean {
    return nowMs - Math.max(askedAtMs, this.feed.confirmedAtMs) < this.options.graceMs;
  }

  #use(key: string, context: C, entry: Entry<V>, nowMs: number): V {
    if (nowMs - entry.usedAtMs >= USE_NOTED_EVERY_MS) {
      entry.usedAtMs = nowMs;
      this.#entries.delete(key);
      this.#entries.set(key, entry);
    }
    if (nowMs >= entry.dueAtMs) this.#renew(key, context, nowMs);
    return entry.value;
  }

  /**
   * Renews in the background. Without an answer the value stays valid, as the feed confirms it, and the next use asks
   * again.
   */
  #renew(key: string, context: C, nowMs: number): void {
    if (this.#lookups.has(key) || this.#running.size >= this.options.maxLookups || this.feed.isAway(nowMs)) return;
    this.#ask(key, context, nowMs).catch(() => undefined);
  }

  #ask(key: string, context: C, nowMs: number): Promise<V | null> {
    const known = this.#lookups.get(key);
    if (known !== undefined && nowMs - known.askedAtMs < FRESH_FOR_MS) return known.answer.promise;
    if (this.feed.isAway(nowMs)) throw this.options.refusal('its owner cannot be asked');
    if (this.#running.size >= this.options.maxLookups) throw this.options.refusal('too many questions at once');
    const lookup = { key, askedAtMs: nowMs, answer: Promise.withResolvers<V | null>() };
    this.#lookups.set(key, lookup);
    this.#running.add(lookup);
    void this.#lookUp(lookup, context);
    return lookup.answer.promise;
  }

  /** Never rejects; the promise of the lookup has the outcome. */
  async #lookUp(lookup: Lookup<V>, context: C): Promise<void> {
    const { key, answer } = lookup;
    const moment = this.feed.moment();
    try {
      const value = await this.read(key, context);
      this.#keep(lookup, value, moment);
      answer.resolve(value);
    } catch (thrown) {
      const error = AppError.from(thrown);
      if (error.status < 500) answer.reject(error);
      else this.#endWithout(lookup, 'its owner gave no answer', error);
    } finally {
      this.#running.delete(lookup);
      if (this.#lookups.get(key) === lookup) this.#lookups.delete(key);
    }
  }

  /** Ends a lookup without an answer: the known value is used if allowed, otherwise the lookup is refused. */
  #endWithout({ key, answer }: Lookup<V>, reason: string, cause?: unknown): void {
    const entry = this.#entries.get(key);
    if (entry !== undefined && this.#mayBeUsed(entry, this.options.monotonicNowMs())) answer.resolve(entry.value);
    else answer.reject(this.options.refusal(reason, cause));
  }

  #keep({ key, askedAtMs }: Lookup<V>, value: V | null, moment: number): void {
    const known = this.#entries.get(key);
    if (known !== undefined) {
      if (known.askedAtMs > askedAtMs || known.moment > moment) return;
      this.#drop(key, known);
    }
    if (value === null) return;
    const subjects = this.options.subjectsOf(key, value);
    if (!this.feed.isUnchangedSince(moment, subjects)) return;
    // Randomized, so that not all values are renewed at the same time.
    const dueAtMs = askedAtMs + this.options.maxAgeMs * (1 - Math.random() / 5);
    this.#entries.set(key, { value, subjects, askedAtMs, moment, dueAtMs, usedAtMs: askedAtMs });
    for (const subject of subjects) {
      const keys = this.#keysOf.get(subject);
      if (keys === undefined) this.#keysOf.set(subject, new Set([key]));
      else keys.add(key);
    }
    if (this.#entries.size > this.options.maxEntries) {
      const [oldest] = this.#entries;
      if (oldest !== undefined) this.#drop(...oldest);
    }
  }

  #drop(key: string, { subjects }: Entry<V>): void {
    this.#entries.delete(key);
    for (const subject of subjects) {
      const keys = this.#keysOf.get(subject);
      keys?.delete(key);
      if (keys?.size === 0) this.#keysOf.delete(subject);
    }
  }

  /** Running lookups may have been answered before the change, so no other caller may join them. */
  #forget(subjects: readonly string[] | null): void {
    this.#lookups.clear();
    if (subjects === null) {
      this.#entries.clear();
      this.#keysOf.clear();
      return;
    }
    for (const subject of subjects) {
      for (const key of this.#keysOf.get(subject) ?? []) this.#drop(key, this.#entries.get(key)!);
    }
  }

  /** Ends the wait for an owner that is unavailable. An answer that arrives later is still stored. */
  #endLookups(): void {
    const nowMs = this.options.monotonicNowMs();
    if (!this.feed.isAway(nowMs)) return;
    this.#lookups.clear();
    for (const lookup of this.#running) this.#endWithout(lookup, 'its owner gives no answers');
    this.#running.clear();
  }
}
