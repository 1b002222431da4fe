import type { FeedChanges, FeedName, FeedPosition } from '@libs/contracts';

/** Where the changes of a feed are stored. */
export abstract class FeedSource {
  /** Returns the changes since a position, or only the current position of the feed if the changes are not known. */
  abstract changesSince(feed: FeedName, since: FeedPosition | null): Promise<FeedChanges>;
  /** Deletes old changes, at most `limit` of them. @returns how many were deleted */
  abstract prune(feed: FeedName, limit: number): Promise<number>;
}
