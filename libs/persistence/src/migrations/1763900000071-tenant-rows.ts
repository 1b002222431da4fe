import type { MigrationInterface, QueryRunner } from 'typeorm';
import { guardTenantRows, OF_ORGANIZATION_OR_WORKSPACE, ORGANIZATION, ROLE, WORKSPACE } from './tenant-policy';

const ACCOUNT = `(SELECT 'org:' || nullif(current_setting('sluice.organization', true), ''))`;

const OF_ORGANIZATION = `organization_id = ${ORGANIZATION}`;
const OF_WORKSPACE = `${OF_ORGANIZATION} AND workspace_id = ${WORKSPACE}`;
/** SQL for rows without a tenant column: those of the named batches that belong to the tenant. */
const OF_NAMED_BATCH = `batch_number = ANY (ARRAY(
  SELECT b.number FROM batches b WHERE b.id = ANY (string_to_array(current_setting('sluice.batches', true), ','))))`;
const OF_OWN_KEY = `api_key_hash IN (
  SELECT k.hash FROM api_keys k WHERE k.organization_id = ${ORGANIZATION} AND k.deleted_at IS NULL)`;

/** SQL conditions for the rows of each table that belong to a tenant. */
const OWNED: Readonly<Record<string, string>> = {
  organizations: `id = ${ORGANIZATION}`,
  workspaces: `${OF_ORGANIZATION} AND (${WORKSPACE} IS NULL OR id = ${WORKSPACE})`,
  api_keys: OF_ORGANIZATION_OR_WORKSPACE,
  authorization_codes: OF_ORGANIZATION_OR_WORKSPACE,
  identity_issuers: OF_ORGANIZATION,
  federation_policies: OF_ORGANIZATION,
  credentials: OF_ORGANIZATION_OR_WORKSPACE,
  webhook_secrets: OF_ORGANIZATION_OR_WORKSPACE,
  webhook_deliveries: OF_WORKSPACE,
  idempotency_keys: OF_ORGANIZATION,
  audit_entries: OF_ORGANIZATION,
  batches: OF_WORKSPACE,
  batch_lines: OF_NAMED_BATCH,
  batch_segments: OF_NAMED_BATCH,
  batch_results: OF_NAMED_BATCH,
  native_batches: OF_WORKSPACE,
  videos: OF_WORKSPACE,
  generations: OF_WORKSPACE,
  generation_contents: OF_WORKSPACE,
  ledger_accounts: `id = ${ACCOUNT}`,
  ledger_transfers: `debit_account = ${ACCOUNT} OR credit_account = ${ACCOUNT}`,
  ledger_holds: `account_id = ${ACCOUNT}`,
  ledger_keys: OF_OWN_KEY,
  ledger_key_days: OF_OWN_KEY,
  ledger_byok_months: OF_ORGANIZATION,
  // A job message for a batch that the tenant can see.
  outbox: `EXISTS (SELECT FROM batches b WHERE b.id = payload ->> 'batchId')`,
};

/** Only the rights needed to answer a caller. Partitions are reached only through their tables. */
const GRANTED: Readonly<Record<string, string>> = {
  workspaces: 'SELECT, INSERT, UPDATE',
  api_keys: 'SELECT, INSERT, UPDATE',
  authorization_codes: 'SELECT, INSERT, UPDATE',
  identity_issuers: 'SELECT, INSERT, UPDATE, DELETE',
  federation_policies: 'SELECT, INSERT, UPDATE, DELETE',
  credentials: 'SELECT, INSERT, UPDATE',
  webhook_secrets: 'SELECT, INSERT, UPDATE, DELETE',
  idempotency_keys: 'SELECT, INSERT, UPDATE, DELETE',
  audit_entries: 'SELECT (id, status), INSERT (organization_id, key_id, action, target, request_id), UPDATE (status)',
  batches: `SELECT, UPDATE (status, ends_as, stop_by, fence, lease_until, deleted_at, upstream_deletion,
    idempotency_key, request_hash)`,
  batch_lines: 'SELECT, DELETE',
  batch_segments: 'SELECT, UPDATE (state, fence)',
  batch_results: 'SELECT, DELETE',
  videos: 'SELECT',
  generations: 'SELECT',
  generation_contents: 'SELECT',
  ledger_accounts: 'SELECT',
  ledger_transfers: 'SELECT',
  ledger_keys: 'SELECT',
  ledger_key_days: 'SELECT',
  outbox: 'INSERT',
};

/**
 * A second protection between tenants: statements that answer a caller run with a role that sees only the rows of one
 * tenant, whatever they select.
 *
 * The policies do not apply to the owner of the tables, nor, by a separate policy, to any other role with rights on
 * them: work that belongs to no tenant sees all rows, with whichever login an app connects.
 */
export class TenantRows1763900000071 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await ensureTenantRole(runner);
    for (const [table, owned] of Object.entries(OWNED)) {
      await guardTenantRows(runner, table, { owned, granted: GRANTED[table] });
    }
  }

  /** The role is kept, because other databases of the cluster may use it. */
  async down(runner: QueryRunner): Promise<void> {
    for (const table of Object.keys(OWNED)) {
      await runner.query(`REVOKE ALL ON ${table} FROM ${ROLE}`);
      await runner.query(`DROP POLICY IF EXISTS ${table}_of_tenant ON ${table}`);
      await runner.query(`DROP POLICY IF EXISTS ${table}_of_installation ON ${table}`);
      await runner.query(`ALTER TABLE ${table} DISABLE ROW LEVEL SECURITY`);
    }
  }
}

/** How often to look again for a role that another database created at the same moment; each wait is 50 ms. */
const ATTEMPTS = 20;

/**
 * Creates the role and lets this login act as it, or finds that a database administrator has done so.
 *
 * Roles belong to all databases of the cluster, and two of them may migrate at once. The second one only loses a block
 * of its own and tries again: the role may exist but not be visible yet.
 */
export async function ensureTenantRole(runner: Pick<QueryRunner, 'query'>, role = ROLE): Promise<void> {
  await runner.query(`
    DO $$
    DECLARE
      login text := quote_ident(session_user);
      help text := format('; as a superuser run: CREATE ROLE ${role} NOLOGIN; GRANT ${role} TO %s; then migrate again', login);
      doing text;
    BEGIN
      FOR attempt IN 1..${ATTEMPTS} LOOP
        BEGIN
          doing := 'create the role';
          IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${role}') THEN
            CREATE ROLE ${role} NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT NOREPLICATION NOBYPASSRLS;
          END IF;
          IF EXISTS (SELECT FROM pg_roles WHERE rolname = '${role}' AND (rolsuper OR rolbypassrls OR rolcanlogin)) THEN
            RAISE invalid_role_specification USING MESSAGE = 'the role ${role} must be NOLOGIN NOSUPERUSER NOBYPASSRLS';
          END IF;
          doing := 'act as';
          -- From version 16 on one may be a member and still not act as the role.
          IF NOT pg_has_role(session_user, '${role}',
            CASE WHEN current_setting('server_version_num')::integer >= 160000 THEN 'SET' ELSE 'MEMBER' END)
          THEN
            EXECUTE format('GRANT ${role} TO %s', login);
          END IF;
          doing := 'let into its schema';
          IF NOT has_schema_privilege('${role}', current_schema(), 'USAGE') THEN
            EXECUTE format('GRANT USAGE ON SCHEMA %I TO ${role}', current_schema());
          END IF;
          EXIT;
        EXCEPTION
          WHEN insufficient_privilege THEN
            RAISE insufficient_privilege USING MESSAGE = format('%s may not %s ${role}%s', login, doing, help);
          -- The last is "tuple concurrently updated".
          WHEN duplicate_object OR unique_violation OR undefined_object OR internal_error THEN
            IF attempt = ${ATTEMPTS} THEN RAISE; END IF;
            PERFORM pg_sleep(0.05);
        END;
      END LOOP;
    END $$`);
}
