import type { MigrationInterface, QueryRunner } from 'typeorm';
import { noteChange } from './1763900000140-change-feeds';
import { adoptDefaultPartition, KEPT_DAYS, makePartition } from './1763900000295-app-rights';

const FEEDS = ['access', 'credentials'] as const;
const COLUMNS = 'revision, subject, mark, changed_at';
/** The numbers of `partition-plan.ts`. */
const WEEKS_AHEAD = 4;
const MOST_ROWS_MOVED = 20_000;
const MOST_BYTES_MOVED = 64 * 1024 * 1024;
/** Rows further ahead have a date from a wrong clock: the operator has to check them. */
const MOST_WEEKS_AHEAD = 53;

/**
 * Protects the data of other apps from an attacker who controls `credentials` or `batch-worker`.
 *
 * Each feed has its own table: its owner's login deletes old entries, and in a shared table it could delete or lock
 * those of the other feed. The functions for the maintenance of partitions accept only planned weeks, and lock nothing
 * if nothing is missing.
 */
export class ApartFeeds1763900000330 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const pinned = await lockWatched(runner);
    for (const feed of FEEDS) {
      await runner.query(`
        CREATE TABLE ${feed}_feed_entries (
          revision bigint NOT NULL,
          subject text NOT NULL,
          mark uuid NOT NULL,
          changed_at timestamptz NOT NULL DEFAULT now(),
          CONSTRAINT ${feed}_feed_entries_pkey PRIMARY KEY (revision, subject)
        )`);
      await runner.query(`
        INSERT INTO ${feed}_feed_entries (${COLUMNS}) SELECT ${COLUMNS} FROM change_feed_entries WHERE feed = '${feed}'`);
    }
    await runner.query(noteChange(pinned, INSERT_APART));
    await runner.query('DROP TABLE change_feed_entries');
    // Read by `auth` and `credentials` of the previous version, which run until they are updated.
    await runner.query(`
      CREATE VIEW change_feed_entries AS
      ${FEEDS.map((feed) => `SELECT '${feed}'::text AS feed, ${COLUMNS} FROM ${feed}_feed_entries`).join(' UNION ALL ')}`);
    await replaceUpkeep(runner, pinned, PLANNED_WEEKS_ONLY, PLANNED_ADOPTIONS_ONLY);
  }

  async down(runner: QueryRunner): Promise<void> {
    const pinned = await lockWatched(runner);
    await replaceUpkeep(runner, pinned);
    await runner.query('DROP VIEW change_feed_entries');
    await runner.query(`
      CREATE TABLE change_feed_entries (
        feed text NOT NULL,
        revision bigint NOT NULL,
        subject text NOT NULL,
        mark uuid NOT NULL,
        changed_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT change_feed_entries_pkey PRIMARY KEY (feed, revision, subject)
      )`);
    for (const feed of FEEDS) {
      await runner.query(`
        INSERT INTO change_feed_entries (feed, ${COLUMNS}) SELECT '${feed}', ${COLUMNS} FROM ${feed}_feed_entries`);
    }
    await runner.query(noteChange(pinned));
    for (const feed of FEEDS) await runner.query(`DROP TABLE ${feed}_feed_entries`);
  }
}

/**
 * Waits for the transactions that will record a change, and blocks new ones: they would otherwise wake with the old
 * function and no table to write into. Workspaces are locked before keys, as in the apps. Reading is not blocked.
 */
async function lockWatched(runner: QueryRunner): Promise<string> {
  await runner.query('LOCK TABLE workspaces, workspace_budgets, api_keys, credentials IN SHARE MODE');
  const [{ pinned }] = (await runner.query(
    `SELECT format('SET search_path = %I, pg_temp', current_schema()) AS pinned`,
  )) as [{ pinned: string }];
  return pinned;
}

const INSERT_APART = `
        EXECUTE format('INSERT INTO %I (${COLUMNS})
          SELECT $1, s.subject, f.mark, clock_timestamp() FROM change_feeds f, (SELECT $2 UNION SELECT $3) s(subject)
          WHERE f.feed = $4 AND s.subject IS NOT NULL ON CONFLICT DO NOTHING', of_feed || '_feed_entries')
        USING number, to_jsonb(OLD) ->> of_subject, to_jsonb(NEW) ->> of_subject, of_feed;`;

const isExpired = (monday: string): string => `target <> 'generations' AND ${monday} + 7 <= least(
            (now() AT TIME ZONE 'UTC')::date - ${KEPT_DAYS}, (SELECT min(created_on) FROM batches WHERE finalized_at IS NULL))`;

/** This week and the coming ones, and weeks with rows in the default partition. */
const PLANNED_WEEKS_ONLY = `
      IF EXISTS (SELECT FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                 WHERE i.inhparent = target::regclass AND c.relname = made) THEN
        RETURN 0;
      END IF;
      DECLARE
        this_week CONSTANT date := date_trunc('week', now() AT TIME ZONE 'UTC')::date;
        is_planned boolean := monday BETWEEN this_week AND this_week + ${WEEKS_AHEAD * 7};
      BEGIN
        IF NOT is_planned AND monday <= this_week + ${MOST_WEEKS_AHEAD * 7} AND NOT (${isExpired('monday')}) THEN
          EXECUTE format('SELECT EXISTS (SELECT FROM %I WHERE created_on >= $1 AND created_on < $1 + 7)',
            target || '_default') INTO is_planned USING monday;
        END IF;
        IF is_planned IS NOT TRUE THEN
          RAISE invalid_parameter_value USING MESSAGE = format('the week of %s is not planned', monday);
        END IF;
      END;`;

/** Checks that an adoption starts at a week with too many rows to move and ends with the weeks made ahead, at most. */
const PLANNED_ADOPTIONS_ONLY = `
      IF step = 'forget' AND NOT EXISTS (
          SELECT FROM pg_constraint WHERE conrelid = adopted::regclass AND conname = check_name) THEN
        RETURN;
      END IF;
      IF step IN ('check', 'exchange') THEN
        DECLARE
          this_week CONSTANT date := date_trunc('week', now() AT TIME ZONE 'UTC')::date;
          is_planned boolean := from_day = date_trunc('week', from_day)::date AND to_day = date_trunc('week', to_day)::date
            AND from_day < to_day AND to_day <= this_week + ${(WEEKS_AHEAD + 1) * 7} AND NOT (${isExpired('from_day')});
        BEGIN
          IF is_planned THEN
            EXECUTE format('SELECT count(*) > ${MOST_ROWS_MOVED} OR coalesce(sum(%s), 0) > ${MOST_BYTES_MOVED}
                FROM %I WHERE created_on >= $1 AND created_on < $1 + 7',
              CASE target WHEN 'generations' THEN '0' ELSE 'octet_length(body)' END, adopted)
            INTO is_planned USING from_day;
          END IF;
          IF is_planned IS NOT TRUE THEN
            RAISE invalid_parameter_value USING MESSAGE = format('adopting from %s to %s is not planned', from_day, to_day);
          END IF;
        END;
      END IF;`;

async function replaceUpkeep(runner: QueryRunner, pinned: string, ...checks: readonly string[]): Promise<void> {
  const definer = `LANGUAGE plpgsql SECURITY DEFINER ${pinned}`;
  await runner.query(makePartition(definer, checks[0]));
  await runner.query(adoptDefaultPartition(definer, checks[1]));
}
