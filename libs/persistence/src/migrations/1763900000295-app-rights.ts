import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLES = ['batch_lines', 'batch_results', 'generations'];
/** The retention time in `batch-views.repository.ts` plus the days of an upload. The functions drop nothing younger. */
export const KEPT_DAYS = 32;

/** Columns that mark the end of a job. Credentials are opened only for jobs that have not ended. */
const ENDS = {
  batches: {
    columns: 'finalized_at',
    reopens: 'OLD.finalized_at IS NOT NULL AND NEW.finalized_at IS DISTINCT FROM OLD.finalized_at',
  },
  videos: {
    columns: 'finished_at',
    reopens: 'OLD.finished_at IS NOT NULL AND NEW.finished_at IS DISTINCT FROM OLD.finished_at',
  },
  native_batches: { columns: 'state', reopens: `OLD.state = 'done' AND NEW.state <> 'done'` },
  webhook_deliveries: {
    columns: 'delivered_at, given_up_at',
    reopens: `num_nonnulls(OLD.delivered_at, OLD.given_up_at) > 0 AND num_nonnulls(NEW.delivered_at, NEW.given_up_at) = 0`,
  },
} as const;

/**
 * Functions of the tables' owner that apps with separate logins call: maintenance of partitions, which checks all
 * arguments, and the partition for batch lines. A trigger keeps ended jobs from being reopened. The rights themselves
 * are in `rights/app-rights.ts` and are applied at the end of each migration run.
 */
export class AppRights1763900000295 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const [{ pinned }] = (await runner.query(
      `SELECT format('SET search_path = %I, pg_temp', current_schema()) AS pinned`,
    )) as [{ pinned: string }];
    await runner.query(`ALTER FUNCTION note_change() ${pinned}`);
    await createLinesPartition(runner);
    await runner.query(COPY_RIGHTS);
    for (const sqlOf of [makePartition, adoptDefaultPartition, dropExpiredPartition]) {
      await runner.query(sqlOf(`LANGUAGE plpgsql SECURITY DEFINER ${pinned}`));
    }
    for (const name of UPKEEP) await runner.query(`REVOKE ALL ON FUNCTION ${name} FROM PUBLIC`);
    await createEnds(runner, pinned);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of Object.keys(ENDS)) await runner.query(`DROP TRIGGER ${table}_stay_over ON ${table}`);
    for (const name of [
      ...UPKEEP,
      'keep_over()',
      'lines_partition(date)',
      'copy_partition_rights(text, text, boolean)',
    ]) {
      await runner.query(`DROP FUNCTION ${name}`);
    }
    await runner.query(`ALTER FUNCTION note_change() SET search_path FROM CURRENT`);
  }
}

const UPKEEP = [
  'make_partition(text, date)',
  'adopt_default_partition(text, text, date, date)',
  'drop_expired_partition(text, text)',
];

/**
 * Returns the partition of a day and locks it until the transaction ends. PostgreSQL cannot COPY into a table with
 * row-level security; partitions have none. The lock on the table blocks exchanges of partitions. The default partition
 * is locked too, because a new partition may take the day from it. As in every statement, the table is locked first,
 * then its partitions.
 */
async function createLinesPartition(runner: QueryRunner): Promise<void> {
  await runner.query(`
    CREATE FUNCTION lines_partition(day date) RETURNS text LANGUAGE plpgsql AS $$
    DECLARE
      found record;
      is_locked boolean := false;
    BEGIN
      LOCK TABLE ONLY batch_lines IN ROW EXCLUSIVE MODE;
      LOOP
        SELECT quote_ident(p.relname) AS name, p.bound = 'DEFAULT' AS is_default INTO STRICT found
        FROM (
          SELECT c.relname, pg_get_expr(c.relpartbound, c.oid) AS bound
          FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'batch_lines'::regclass OFFSET 0
        ) p
        WHERE CASE WHEN p.bound = 'DEFAULT' THEN true
          ELSE day >= coalesce(substring(p.bound FROM $re$FROM \\('([0-9-]+)'\\)$re$), '-infinity')::date
            AND day < coalesce(substring(p.bound FROM $re$TO \\('([0-9-]+)'\\)$re$), 'infinity')::date END
        ORDER BY is_default LIMIT 1;
        EXIT WHEN is_locked OR NOT found.is_default;
        LOCK TABLE batch_lines_default IN ROW EXCLUSIVE MODE;
        is_locked := true;
      END LOOP;
      RETURN found.name;
    END $$`);
}

const isPartitioned = `
      IF target NOT IN (${TABLES.map((table) => `'${table}'`).join(', ')}) THEN
        RAISE invalid_parameter_value USING MESSAGE = 'no such partitioned table';
      END IF;`;

/**
 * Grants on a new partition the same rights that logins have on the default partition if they insert there; others get
 * none.
 */
const COPY_RIGHTS = `
    CREATE FUNCTION copy_partition_rights(source text, made text, is_default boolean) RETURNS void LANGUAGE plpgsql AS $$
    DECLARE
      given record;
    BEGIN
      FOR given IN
        SELECT a.privilege_type, a.grantee::regrole AS grantee,
          EXISTS (SELECT FROM aclexplode(c.relacl) o WHERE o.grantee = a.grantee AND o.privilege_type = 'INSERT') AS writes
        FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
        WHERE c.oid = source::regclass AND a.grantee NOT IN (0, c.relowner)
      LOOP
        IF is_default OR given.writes THEN
          EXECUTE format('GRANT %s ON %I TO %s', given.privilege_type, made, given.grantee);
        ELSE
          EXECUTE format('REVOKE %s ON %I FROM %s', given.privilege_type, made, given.grantee);
        END IF;
      END LOOP;
    END $$`;

/** A later migration adds a check of the arguments before the locks. */
export const makePartition = (definer: string, check = ''): string => `
    CREATE OR REPLACE FUNCTION make_partition(target text, monday date) RETURNS bigint ${definer} AS $$
    DECLARE
      made text := target || '_' || to_char(monday, 'IYYY"w"IW');
      names text;
      moved bigint;
    BEGIN${isPartitioned}${check}
      IF monday IS DISTINCT FROM date_trunc('week', monday)::date THEN
        RAISE invalid_parameter_value USING MESSAGE = 'a partition begins on a Monday';
      END IF;
      -- In the order of every statement on rows: the table, then its partitions. Readers and writers of other weeks
      -- are not held up by the first lock, and by the second only for as long as the rows are moved.
      EXECUTE format('LOCK TABLE ONLY %I IN SHARE UPDATE EXCLUSIVE MODE', target);
      IF EXISTS (SELECT FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                 WHERE i.inhparent = target::regclass AND c.relname = made) THEN
        RETURN 0;
      END IF;
      EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', target || '_default');
      EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', made, target);
      SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) INTO names FROM pg_attribute
      WHERE attrelid = target::regclass AND attnum > 0 AND NOT attisdropped;
      EXECUTE format('WITH moved AS (
          DELETE FROM %1$I WHERE created_on >= $1 AND created_on < $1 + 7 RETURNING %3$s)
        INSERT INTO %2$I (%3$s) SELECT %3$s FROM moved', target || '_default', made, names) USING monday;
      GET DIAGNOSTICS moved = ROW_COUNT;
      EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', target, made, monday, monday + 7);
      PERFORM copy_partition_rights(target || '_default', made, false);
      RETURN moved;
    END $$`;

/** Each step is a separate transaction: validating the check takes a lock that blocks no statements on rows. */
export const adoptDefaultPartition = (definer: string, check = ''): string => `
    CREATE OR REPLACE FUNCTION adopt_default_partition(target text, step text, from_day date, to_day date) RETURNS void ${definer} AS $$
    DECLARE
      adopted text := target || '_default';
      check_name text := target || '_adopted';
      named text := target || '_' || to_char(from_day, 'IYYY"w"IW') || '_' || to_char(to_day - 7, 'IYYY"w"IW');
    BEGIN${isPartitioned}${check}
      CASE step
        WHEN 'check' THEN
          EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I CHECK (created_on >= %L AND created_on < %L) NOT VALID',
            adopted, check_name, from_day, to_day);
        WHEN 'validate' THEN
          EXECUTE format('ALTER TABLE %I VALIDATE CONSTRAINT %I', adopted, check_name);
        WHEN 'exchange' THEN
          EXECUTE format('LOCK TABLE ONLY %I IN ACCESS EXCLUSIVE MODE', target);
          EXECUTE format('ALTER TABLE %I DETACH PARTITION %I', target, adopted);
          EXECUTE format('ALTER TABLE %I RENAME TO %I', adopted, named);
          EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', target, named, from_day, to_day);
          EXECUTE format('ALTER TABLE %I DROP CONSTRAINT %I', named, check_name);
          EXECUTE format('CREATE TABLE %I PARTITION OF %I DEFAULT', adopted, target);
          PERFORM copy_partition_rights(named, adopted, true);
          PERFORM copy_partition_rights(adopted, named, false);
        WHEN 'forget' THEN
          EXECUTE format('ALTER TABLE %I DROP CONSTRAINT IF EXISTS %I', adopted, check_name);
      END CASE;
    END $$`;

const dropExpiredPartition = (definer: string): string => `
    CREATE FUNCTION drop_expired_partition(target text, expired text) RETURNS void ${definer} AS $$
    DECLARE
      bound text;
    BEGIN${isPartitioned}
      SELECT pg_get_expr(c.relpartbound, c.oid) INTO bound FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = target::regclass AND c.relname = expired;
      IF bound IS NULL THEN
        RETURN;
      END IF;
      IF target = 'generations' OR coalesce(substring(bound FROM $re$TO \\('([0-9-]+)'\\)$re$)::date > least(
          (now() AT TIME ZONE 'UTC')::date - ${KEPT_DAYS}, (SELECT min(created_on) FROM batches WHERE finalized_at IS NULL)),
          true) THEN
        RAISE insufficient_privilege USING MESSAGE = format('%s is kept', expired);
      END IF;
      EXECUTE format('DROP TABLE IF EXISTS %I', expired);
    END $$`;

/** Refuses to reopen an ended job to the logins of apps. The owner may: operators redeliver webhooks. */
async function createEnds(runner: QueryRunner, pinned: string): Promise<void> {
  await runner.query(`
    CREATE FUNCTION keep_over() RETURNS trigger LANGUAGE plpgsql ${pinned} AS $$
    BEGIN
      IF NOT pg_has_role(current_user, (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE')
         AND EXISTS (SELECT FROM pg_roles WHERE rolname ~ '^sluice_(gateway|(batch|video)_worker|credentials|auth)$' AND pg_has_role(current_user, oid, 'USAGE')) THEN
        RAISE insufficient_privilege USING MESSAGE = format('a row of %s that is over stays over', TG_TABLE_NAME);
      END IF;
      RETURN NEW;
    END $$`);
  for (const [table, { columns, reopens }] of Object.entries(ENDS)) {
    await runner.query(`
      CREATE TRIGGER ${table}_stay_over BEFORE UPDATE OF ${columns} ON ${table}
      FOR EACH ROW WHEN (${reopens}) EXECUTE FUNCTION keep_over()`);
  }
}
