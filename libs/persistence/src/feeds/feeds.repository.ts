import { Injectable } from '@nestjs/common';
import { MOST_CHANGES, type FeedChanges, type FeedName, type FeedPosition } from '@libs/contracts';
import { Database } from '../database';

interface FeedRow {
  readonly revision: string;
  readonly mark: string;
  readonly isKnown: boolean;
  readonly subjects: string[] | null;
}

/** For how long a position is known after the change that ended it. */
const KEPT_FOR = '10 minutes';

/**
 * One statement and so one snapshot. A position is known if it is the current one or if its entries are still there
 * under its mark; subjects are read one beyond the most that an answer holds.
 */
const READ = `
  SELECT f.revision, f.mark,
         (f.revision = $2 AND f.mark = $3::uuid) OR EXISTS (
           SELECT FROM change_feed_entries e WHERE e.feed = $1 AND e.revision = $2 AND e.mark = $3::uuid) AS "isKnown",
         CASE WHEN f.revision > $2 THEN (
           SELECT array_agg(DISTINCT e.subject) FROM (
             SELECT subject FROM change_feed_entries WHERE feed = $1 AND revision > $2 ORDER BY revision LIMIT $4) e)
         END AS subjects
  FROM change_feeds f WHERE f.feed = $1`;

/** The newest of the old entries stays: readers have been at its position until the change after it. */
const PRUNE = `
  DELETE FROM change_feed_entries WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM change_feed_entries
    WHERE feed = $1 AND revision < (
      SELECT max(revision) FROM change_feed_entries
      WHERE feed = $1 AND changed_at < now() - interval '${KEPT_FOR}')
    ORDER BY revision LIMIT $2 FOR UPDATE SKIP LOCKED))`;

/** The feeds of changes, which triggers write: see the migration `change-feeds`. */
@Injectable()
export class FeedsRepository {
  constructor(private readonly database: Database) {}

  /** Returns what changed since a position, or where the feed is now if that cannot be said. */
  async changesSince(feed: FeedName, since: FeedPosition | null): Promise<FeedChanges> {
    const row = await this.database.firstRow<FeedRow>({
      name: 'feed-changes-since',
      sql: READ,
      values: [feed, since?.revision ?? -1, since?.mark ?? null, MOST_CHANGES + 1],
    });
    if (row === null) throw new Error(`there is no feed ${feed}: the migrations were not applied`);
    const position = { revision: Number(row.revision), mark: row.mark };
    const subjects = row.subjects ?? [];
    const isTold = since !== null && row.isKnown && subjects.length <= MOST_CHANGES;
    return isTold ? { since, position, subjects } : { since: null, position, subjects: [] };
  }

  /** Deletes entries of positions that ended ten minutes ago, at most `limit` of them. @returns how many were deleted */
  async prune(feed: FeedName, limit: number): Promise<number> {
    return this.database.execute({ name: 'feed-prune', sql: PRUNE, values: [feed, limit] });
  }
}
