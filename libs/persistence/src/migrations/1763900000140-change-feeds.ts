import type { MigrationInterface, QueryRunner } from 'typeorm';

interface WatchedTable {
  readonly table: string;
  readonly feed: 'access' | 'credentials';
  /** Column of the row by which a process that caches it looks it up. */
  readonly subject: string;
  /** Columns that caching processes do not use. All other columns are watched, including those that are added later. */
  readonly unwatched: readonly string[];
  /** True if processes may cache that a row does not exist, so that a new row changes what they know. */
  readonly insertCounts: boolean;
}

const WATCHED: readonly WatchedTable[] = [
  {
    table: 'api_keys',
    feed: 'access',
    subject: 'hash',
    unwatched: ['label', 'created_at', 'updated_at'],
    insertCounts: false,
  },
  {
    table: 'workspaces',
    feed: 'access',
    subject: 'id',
    unwatched: ['name', 'slug', 'is_default', 'description', 'created_at', 'updated_at'],
    insertCounts: false,
  },
  {
    table: 'workspace_budgets',
    feed: 'access',
    subject: 'workspace_id',
    unwatched: ['id', 'created_at', 'updated_at'],
    insertCounts: true,
  },
  {
    table: 'credentials',
    feed: 'credentials',
    subject: 'workspace_id',
    unwatched: ['name', 'label', 'key_encryption_key_id', 'wrapped_data_key', 'created_at', 'updated_at'],
    insertCounts: true,
  },
];

/**
 * Feeds of changes to data that gateways and workers cache: for each feed a revision, and for each revision the keys or
 * workspaces that changed.
 *
 * The triggers are deferred to the commit, so that the row of the feed is the last one that a transaction locks. So
 * revisions become visible in order, and no two transactions wait for each other.
 */
export class ChangeFeeds1763900000140 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE change_feeds (
        feed text NOT NULL,
        revision bigint NOT NULL DEFAULT 0,
        mark uuid NOT NULL DEFAULT gen_random_uuid(),
        CONSTRAINT change_feeds_pkey PRIMARY KEY (feed)
      )`);
    await runner.query(`
      CREATE TABLE change_feed_entries (
        feed text NOT NULL,
        revision bigint NOT NULL,
        subject text NOT NULL,
        mark uuid NOT NULL,
        changed_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT change_feed_entries_pkey PRIMARY KEY (feed, revision, subject)
      )`);
    await runner.query(`INSERT INTO change_feeds (feed) VALUES ('access'), ('credentials')`);
    // Gives each feed a first position that exists.
    await runner.query(`
      INSERT INTO change_feed_entries (feed, revision, subject, mark) SELECT feed, revision, '', mark FROM change_feeds`);
    await runner.query(noteChange('SET search_path FROM CURRENT'));
    await runner.query('REVOKE ALL ON FUNCTION note_change() FROM PUBLIC');
    for (const watched of WATCHED) await createTriggers(runner, watched);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const { table } of WATCHED) {
      for (const event of ['inserted', 'updated', 'deleted']) {
        await runner.query(`DROP TRIGGER IF EXISTS ${table}_${event} ON ${table}`);
      }
    }
    await runner.query('DROP FUNCTION note_change()');
    await runner.query('DROP TABLE change_feed_entries');
    await runner.query('DROP TABLE change_feeds');
  }
}

const INSERT_ENTRIES = `
        INSERT INTO change_feed_entries (feed, revision, subject, mark, changed_at)
        SELECT of_feed, number, s.subject, f.mark, clock_timestamp()
        FROM change_feeds f, (SELECT to_jsonb(OLD) ->> of_subject UNION SELECT to_jsonb(NEW) ->> of_subject) s(subject)
        WHERE f.feed = of_feed AND s.subject IS NOT NULL
        ON CONFLICT DO NOTHING;`;

/**
 * Runs as the owner of the tables, since a tenant may change a row and not the feed. One transaction has one
 * revision, however many rows it changes: the first of its triggers notes it in a setting that ends with it.
 */
export const noteChange = (searchPath: string, insertEntries = INSERT_ENTRIES): string => `
      CREATE OR REPLACE FUNCTION note_change() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER ${searchPath} AS $$
      DECLARE
        of_feed CONSTANT text := TG_ARGV[0];
        of_subject CONSTANT text := TG_ARGV[1];
        setting CONSTANT text := 'sluice.revision_of_' || of_feed;
        number bigint := nullif(current_setting(setting, true), '')::bigint;
      BEGIN
        IF number IS NULL THEN
          UPDATE change_feeds SET revision = revision + 1, mark = gen_random_uuid() WHERE feed = of_feed
          RETURNING revision INTO STRICT number;
          PERFORM set_config(setting, number::text, true);
        END IF;${insertEntries}
        RETURN NULL;
      END $$`;

async function createTriggers(runner: QueryRunner, watched: WatchedTable): Promise<void> {
  const { table, feed, subject, unwatched, insertCounts } = watched;
  const seen = (row: string): string => `to_jsonb(${row}) - '{${unwatched.join(',')}}'::text[]`;
  const create = (event: string, verb: string, condition = ''): Promise<unknown> =>
    runner.query(`
      CREATE CONSTRAINT TRIGGER ${table}_${event} AFTER ${verb} ON ${table} DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW ${condition} EXECUTE FUNCTION note_change('${feed}', '${subject}')`);
  if (insertCounts) await create('inserted', 'INSERT');
  await create('updated', 'UPDATE', `WHEN (${seen('OLD')} IS DISTINCT FROM ${seen('NEW')})`);
  await create('deleted', 'DELETE');
}
