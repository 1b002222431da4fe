/** Called with the keys and workspaces that changed; null: anything may have changed. */
export type ChangeListener = (subjects: readonly string[] | null) => void;

/**
 * What a cache of another app's rows uses to learn of their changes. Times are monotonic milliseconds, of one clock for
 * the feed and its caches.
 */
export interface ChangeFeed {
  /** When the last request was sent whose answer confirmed that no change was missed. */
  readonly confirmedAtMs: number;
  /** Whether that is so short a time ago that all that is known may be used. */
  isFresh(nowMs: number): boolean;
  /** Whether the owner cannot be asked: questions fail, or wait too long for their answer. */
  isAway(nowMs: number): boolean;
  /** Resolves when the feed is fresh or the owner is known to be away, or when the next question has ended. */
  settled(): Promise<void>;
  /** Returns the current position in the sequence of changes, for `isUnchangedSince`. */
  moment(): number;
  /** Returns false if one of the subjects changed since `moment`, or may have. */
  isUnchangedSince(moment: number, subjects: readonly string[]): boolean;
  onChange(listener: ChangeListener): void;
  /** Called when the owner is found to be unavailable. */
  onAway(listener: () => void): void;
}

/** No feed: each answer is valid only for a short time after its own request. */
export const NO_FEED: ChangeFeed = {
  confirmedAtMs: Number.NEGATIVE_INFINITY,
  isFresh: () => false,
  isAway: () => false,
  settled: () => Promise.resolve(),
  moment: () => 0,
  isUnchangedSince: () => true,
  onChange: () => undefined,
  onAway: () => undefined,
};
