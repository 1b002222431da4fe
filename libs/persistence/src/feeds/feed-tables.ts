import type { FeedName } from '@libs/contracts';

/**
 * The table of each feed's entries. Each feed has its own table, because its owner deletes old entries: in a shared
 * table one owner's login could delete or lock the entries of the other.
 */
export const FEED_TABLES: Readonly<Record<FeedName, string>> = {
  access: 'access_feed_entries',
  credentials: 'credentials_feed_entries',
};
