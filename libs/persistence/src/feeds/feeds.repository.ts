import { Injectable } from '@nestjs/common';
import { MOST_CHANGES, type FeedChanges, type FeedName, type FeedPosition } from '@libs/contracts';
import { Database } from '../database';
import { FEED_TABLES } from './feed-tables';

interface FeedRow {
  readonly revision: string;
  readonly mark: string;
  readonly isKnown: boolean;
  readonly subjects: string[] | null;
}

/** How long a position is known after the change that ended it. */
const KEPT_FOR = '10 minutes';

/**
 * One statement and so one snapshot. A position is known if it is the current one, or if its entries still exist with
 * its mark together with those of every later revision (a transaction that is rolled back takes no number). One more
 * entry is read than an answer may hold.
 */
const readOf = (entries: string): string => `
  SELECT f.revision, f.mark, later.subjects,
         ((f.revision = $2 AND f.mark = $3::uuid)
           OR EXISTS (SELECT FROM ${entries} WHERE revision = $2 AND mark = $3::uuid))
         AND later.revisions = f.revision - $2 AND later.entries < $4 AS "isKnown"
  FROM change_feeds f, LATERAL (
    SELECT array_agg(DISTINCT subject) AS subjects, count(DISTINCT revision) AS revisions, count(*) AS entries
    FROM (SELECT revision, subject FROM ${entries} WHERE revision > $2 ORDER BY revision LIMIT $4) e) later
  WHERE f.feed = $1`;

/** The newest of the old entries is kept: readers were at its position until the change after it. */
const pruneOf = (entries: string): string => `
  DELETE FROM ${entries} WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM ${entries}
    WHERE revision < (SELECT max(revision) FROM ${entries} WHERE changed_at < now() - interval '${KEPT_FOR}')
    ORDER BY revision LIMIT $1))`;

/** The feeds of changes, which triggers write: see the migration `change-feeds`. */
@Injectable()
export class FeedsRepository {
  constructor(private readonly database: Database) {}

  /** Returns the changes since a position, or the current position of the feed if the changes are not known. */
  async changesSince(feed: FeedName, since: FeedPosition | null): Promise<FeedChanges> {
    const row = await this.database.firstRow<FeedRow>({
      name: `feed-changes-since-${feed}`,
      sql: readOf(FEED_TABLES[feed]),
      values: [feed, since?.revision ?? -1, since?.mark ?? null, MOST_CHANGES + 1],
    });
    if (row === null) throw new Error(`there is no feed ${feed}: the migrations were not applied`);
    const position = { revision: Number(row.revision), mark: row.mark };
    const isTold = since !== null && row.isKnown;
    return isTold ? { since, position, subjects: row.subjects ?? [] } : { since: null, position, subjects: [] };
  }

  /**
   * Deletes entries of positions that ended ten minutes ago, at most `limit` of them.
   * @returns how many were deleted
   */
  async prune(feed: FeedName, limit: number): Promise<number> {
    return this.database.execute({ name: `feed-prune-${feed}`, sql: pruneOf(FEED_TABLES[feed]), values: [limit] });
  }
}
