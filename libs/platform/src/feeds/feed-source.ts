import type { FeedChanges, FeedName, FeedPosition } from '@libs/contracts';

/** Where the changes of a feed are stored. */
export abstract class FeedSource {
  /** What changed since a position, or only where the feed is now if that cannot be said. */
  abstract changesSince(feed: FeedName, since: FeedPosition | null): Promise<FeedChanges>;
  /** Deletes old changes, at most `limit` of them. @returns how many were deleted */
  abstract prune(feed: FeedName, limit: number): Promise<number>;
}
