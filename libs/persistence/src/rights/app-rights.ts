import { AdvanceBatch, AdvanceVideo, DeliverWebhook, type AppName, type JobContract } from '@libs/contracts';
import { FEED_TABLES } from '../feeds/feed-tables';

/** Privileges by table, as in `GRANT … ON table`. */
type Grants = Readonly<Record<string, string>>;

export interface AppRights {
  /** For work that belongs to no tenant: rows of all tenants. */
  readonly tables: Grants;
  /** For answers to callers: rows of one tenant. */
  readonly asTenant?: Grants;
  readonly functions?: readonly string[];
  readonly sequences?: readonly string[];
  /** True if it may create temporary tables. Functions of the owner search `pg_temp` last. */
  readonly temporary?: boolean;
  /** Privileges on partitions of a table: the default partition, and all of them. */
  readonly partitions?: Readonly<Record<string, { readonly default?: string; readonly all?: string }>>;
  /** Conditions on rows, besides the privileges. */
  readonly rows?: readonly RowRule[];
}

/** Condition on the row to delete, to change or to lock, on the row to insert, or on every row that is accessed. */
export interface RowRule {
  readonly table: string;
  readonly verb: 'INSERT' | 'UPDATE' | 'DELETE' | 'ALL';
  readonly holds: string;
}

const OWNER_OF_JOB = 'organization_id, workspace_id, api_key_hash';
/** Owner columns of API keys, for spending of workspaces. No secrets. */
const PLACE_OF_KEY = 'SELECT (hash, organization_id, workspace_id, deleted_at)';
const UPSERT = 'SELECT, INSERT, UPDATE';
const CHARGES_ONLY: RowRule = { table: 'ledger_transfers', verb: 'INSERT', holds: `kind = 'charge'` };
const UPLOADS_ONLY: RowRule = { table: 'batches', verb: 'DELETE', holds: `status = 'receiving'` };

const periods = (names: readonly string[]): string =>
  names.flatMap((name) => [`${name}_usd`, `byok_${name}_usd`]).join(', ');
const SPENDING = `held_usd, spent_on, ${periods(['total', 'day', 'week', 'month'])}`;

/**
 * Rights of apps that charge. Only the owner's login adds credits.
 *
 * Changes are granted by column: UPDATE or DELETE on a whole table would also permit LOCK TABLE, which blocks every
 * reader.
 */
const CHARGING: Grants = {
  ledger_accounts: 'SELECT, UPDATE (balance_usd, held_usd, overage_usd, tracks_workspaces)',
  ledger_transfers: 'SELECT, INSERT',
  ledger_keys: `SELECT, INSERT, UPDATE (${SPENDING})`,
  ledger_key_days: 'SELECT, INSERT, UPDATE (charged_usd, byok_usd)',
  ledger_workspaces: `SELECT, INSERT, UPDATE (${SPENDING})`,
  ledger_byok_months: 'SELECT, INSERT, UPDATE (list_usd)',
  api_keys: PLACE_OF_KEY,
  last_uses: 'SELECT, INSERT, UPDATE (used_at)',
  outbox: 'SELECT, INSERT, UPDATE (available_at, attempts), DELETE',
};

const TASK_RUNS = 'SELECT, INSERT, UPDATE (ended_at)';

/** The tasks of an app, by the first part of their names. */
const tasksOf = (...groups: readonly string[]): RowRule => ({
  table: 'task_runs',
  verb: 'ALL',
  holds: `split_part(task, '.', 1) IN (${groups.map((group) => `'${group}'`).join(', ')})`,
});

/** Jobs that an app sends. It sees no others in the outbox. */
const jobsOf = (...contracts: readonly JobContract<object>[]): RowRule => ({
  table: 'outbox',
  verb: 'ALL',
  holds: `contract IN (${contracts.map(({ name }) => `'${name}'`).join(', ')})`,
});

/** The open holds that a worker charges on. Resolved ones cannot be changed. */
const holdsOf = (kind: 'batch' | 'gen-vid'): RowRule => ({
  table: 'ledger_holds',
  verb: 'UPDATE',
  holds: `state = 'open' AND id LIKE '${kind}-%'`,
});

const ownFeed = (feed: keyof typeof FEED_TABLES): Grants => ({
  change_feeds: 'SELECT',
  [FEED_TABLES[feed]]: 'SELECT, DELETE',
  // A view, for processes of the previous version.
  change_feed_entries: 'SELECT',
});

const webhooksOf = (jobs: string, ended: string, when = `${ended} IS NOT NULL`): RowRule => ({
  table: 'webhook_deliveries',
  verb: 'INSERT',
  holds: `EXISTS (
    SELECT FROM ${jobs} j WHERE j.id = regexp_replace(webhook_deliveries.id, '-[a-z]+$', '')
      AND webhook_deliveries.id = j.id || '-' || j.status AND j.${when} AND j.callback_url = url
      AND (j.organization_id, j.workspace_id) = (webhook_deliveries.organization_id, webhook_deliveries.workspace_id))`,
});

const GATEWAY: AppRights = {
  tables: {
    ...CHARGING,
    ledger_accounts: `${CHARGING.ledger_accounts}, INSERT (id, balance_usd, overage_usd, tracks_workspaces)`,
    ledger_holds: `SELECT, INSERT (id, account_id, amount_usd, expires_at, api_key_hash, workspace_id, counts_byok,
      list_usd)`,
    task_runs: TASK_RUNS,
    batches: `SELECT, INSERT, DELETE, UPDATE (status, lease_until, endpoint, model, provider, upstream_model, total,
      idempotency_key, request_hash, callback_url, quote, credential_id, own_keys_only, leaves_nothing, created_at,
      expires_at)`,
    batch_lines: 'SELECT, INSERT, DELETE',
    batch_segments: 'SELECT, INSERT, DELETE',
    batch_workers: 'SELECT',
    videos: 'INSERT, SELECT (id)',
    generations: `SELECT, INSERT, UPDATE (state, settled_at, hold_usd, provider, upstream_model, upstream_id, status_code,
      outcome, finish_reason, usage_provenance, prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens,
      cost_usd, latency_ms, generation_ms, details, written_in)`,
    generation_contents: 'SELECT, INSERT, UPDATE (created_on), DELETE',
    delayed_charges: 'SELECT, INSERT, DELETE',
    idempotency_keys: 'SELECT (organization_id, route, key_hash, created_at), UPDATE (created_at), DELETE',
  },
  asTenant: {
    api_keys: PLACE_OF_KEY,
    audit_entries: `SELECT (id, status, at, organization_id, key_id, operator, action, target, request_id, client_request_id),
      INSERT (organization_id, key_id, action, target, request_id, client_request_id), UPDATE (status, target)`,
    batches: `SELECT, UPDATE (status, ends_as, stop_by, fence, lease_until, deleted_at, upstream_deletion,
      upstream_requested_at, idempotency_key, request_hash)`,
    batch_lines: 'SELECT, DELETE',
    batch_segments: 'SELECT, UPDATE (state, fence)',
    batch_results: 'SELECT, DELETE',
    generations: 'SELECT',
    generation_contents: 'SELECT',
    idempotency_keys: 'SELECT, INSERT, UPDATE, DELETE',
    last_uses: 'SELECT',
    ledger_accounts: 'SELECT',
    ledger_holds: 'SELECT',
    ledger_keys: 'SELECT',
    ledger_key_days: 'SELECT',
    outbox: 'INSERT',
    videos: 'SELECT',
  },
  sequences: ['batches_number_seq'],
  // Without SELECT PostgreSQL does not name a duplicate custom_id.
  partitions: { batch_lines: { all: 'SELECT, INSERT' } },
  rows: [CHARGES_ONLY, UPLOADS_ONLY, jobsOf(AdvanceBatch, AdvanceVideo), tasksOf('generations', 'idempotency-keys')],
};

const BATCH_WORKER: AppRights = {
  tables: {
    ...CHARGING,
    ledger_accounts: `${CHARGING.ledger_accounts}, INSERT (id, tracks_workspaces)`,
    ledger_holds: `SELECT, UPDATE (amount_usd, settled_usd, settled_byok_usd, raised_usd, overage_usd, reserved,
      refused_since, state, resolved_at)`,
    task_runs: TASK_RUNS,
    batches: `SELECT, DELETE, UPDATE (status, fence, lease_until, in_progress_at, finalizing_at, finalized_at, completed,
      failed, usage, error_message, ends_as, stop_by, is_metered, upstream_deletion, idempotency_key, request_hash)`,
    batch_lines: 'SELECT, DELETE',
    batch_results: 'SELECT, INSERT',
    batch_segments: 'SELECT, UPDATE, DELETE',
    batch_workers: 'SELECT, INSERT, UPDATE, DELETE',
    native_batches: `SELECT, INSERT, DELETE, UPDATE (state, available_at, is_leased, fence, submitted_at, looks, not_ours, cancelled_at, losses,
      input_file_id, unanswered_uploads, sent_lines, failures, problem, upstream_id, adopted, output_ids, credential_id)`,
    videos: 'SELECT (id, status, finished_at)',
    webhook_deliveries: 'SELECT (id), INSERT',
  },
  functions: [
    'make_partition(text, date)',
    'adopt_default_partition(text, text, date, date)',
    'drop_expired_partition(text, text)',
  ],
  partitions: {
    batch_lines: { default: 'SELECT, DELETE' },
    batch_results: { default: 'SELECT, DELETE' },
    generations: { default: 'SELECT' },
  },
  rows: [
    CHARGES_ONLY,
    UPLOADS_ONLY,
    holdsOf('batch'),
    jobsOf(DeliverWebhook),
    tasksOf('batches', 'batch-workers', 'native-orders', 'partitions'),
    webhooksOf('batches', 'finalized_at'),
    {
      table: 'native_batches',
      verb: 'INSERT',
      holds: `EXISTS (
        SELECT FROM batches b WHERE b.number = batch_number AND b.finalized_at IS NULL
          AND (b.organization_id, b.workspace_id, b.api_key_hash)
            = (native_batches.organization_id, native_batches.workspace_id, native_batches.api_key_hash))`,
    },
  ],
};

const VIDEO_WORKER: AppRights = {
  tables: {
    ...CHARGING,
    ledger_holds: 'SELECT, UPDATE (settled_usd, settled_byok_usd, state, resolved_at)',
    task_runs: TASK_RUNS,
    videos: `SELECT, UPDATE (status, step, fence, lease_until, next_at, attempts, output_attempts, searches, needs_review,
      operation, request, outputs, outputs_expire_at, cost_usd, error_message, finished_at, idempotency_key, request_hash)`,
    generations: 'INSERT',
    webhook_deliveries: `SELECT, INSERT, UPDATE (attempts, unfinished, next_attempt_at, lease_until, fence, last_attempt_at,
      last_status, last_error, delivered_at, given_up_at)`,
  },
  functions: ['purge_webhook_deliveries(integer)'],
  rows: [
    CHARGES_ONLY,
    holdsOf('gen-vid'),
    jobsOf(DeliverWebhook),
    tasksOf('videos', 'webhooks'),
    // Created in the transaction that ends the video. The webhook of a video that ended long ago was delivered or given
    // up.
    webhooksOf('videos', 'finished_at', `finished_at > now() - interval '1 hour'`),
    {
      table: 'generations',
      verb: 'INSERT',
      holds: `EXISTS (
        SELECT FROM videos v WHERE v.id = generations.id AND (v.organization_id, v.workspace_id, v.api_key_hash)
          = (generations.organization_id, generations.workspace_id, generations.api_key_hash))`,
    },
  ],
};

const CREDENTIALS: AppRights = {
  tables: {
    ...ownFeed('credentials'),
    credentials: 'SELECT, UPDATE (key_encryption_key_id, wrapped_data_key)',
    webhook_secrets: 'SELECT, UPDATE (key_encryption_key_id, wrapped_data_key)',
    intake_seeds: 'SELECT, INSERT',
    used_token_ids: 'SELECT (hash), INSERT',
    batches: `SELECT (${OWNER_OF_JOB}, finalized_at, upstream_deletion, upstream_requested_at, deleted_at)`,
    native_batches: `SELECT (${OWNER_OF_JOB}, state)`,
    videos: `SELECT (${OWNER_OF_JOB}, credential_id, finished_at)`,
    webhook_deliveries: 'SELECT (organization_id, workspace_id, delivered_at, given_up_at)',
  },
  asTenant: {
    credentials: 'SELECT, INSERT, UPDATE',
    webhook_secrets: 'SELECT, INSERT, UPDATE, DELETE',
  },
};

/** Read by the nightly audit of the ledger: amounts, but no prompts and no answers. */
const AUDITED: Grants = {
  batches: 'SELECT',
  batch_results: `SELECT (created_on, batch_number, seq, generation_id, prompt_cost_usd, completion_cost_usd, cost_usd,
    usage_details, written_in, is_byok)`,
  generations: 'SELECT',
  videos: `SELECT (id, ${OWNER_OF_JOB}, status, cost_usd, price_usd, list_price_usd, credential_id, created_at, finished_at)`,
  ledger_accounts: 'SELECT',
  ledger_holds: 'SELECT',
  ledger_transfers: 'SELECT',
  ledger_keys: 'SELECT',
  ledger_key_days: 'SELECT',
  ledger_workspaces: 'SELECT',
  ledger_byok_months: 'SELECT',
  ledger_audits: UPSERT,
  ledger_audit_totals: 'SELECT, INSERT, UPDATE, DELETE',
};

const AUTH: AppRights = {
  tables: {
    ...ownFeed('access'),
    ...AUDITED,
    organizations: 'SELECT, INSERT',
    workspaces: 'SELECT, INSERT',
    workspace_budgets: 'SELECT',
    api_keys: 'SELECT',
    oauth_apps: UPSERT,
    authorization_codes: 'SELECT, UPDATE (failed_attempts), DELETE',
    consent_sessions: 'SELECT, INSERT, DELETE',
    identity_issuers: 'SELECT',
    federation_policies: 'SELECT',
    used_token_ids: 'SELECT, INSERT, DELETE',
    audit_entries: 'SELECT (id, at), DELETE',
    task_runs: TASK_RUNS,
  },
  asTenant: {
    workspaces: 'SELECT, INSERT, UPDATE',
    workspace_budgets: 'SELECT, INSERT, UPDATE, DELETE',
    workspace_members: 'SELECT, INSERT, DELETE',
    api_keys: 'SELECT, INSERT, UPDATE',
    authorization_codes: 'SELECT, INSERT, UPDATE',
    identity_issuers: 'SELECT, INSERT, UPDATE, DELETE',
    federation_policies: 'SELECT, INSERT, UPDATE, DELETE',
    audit_entries: 'INSERT (organization_id, key_id, action, target, request_id, client_request_id, status)',
  },
  temporary: true,
  rows: [tasksOf('expired-rows', 'ledger')],
};

/**
 * All rights of each app's login in PostgreSQL: `migrate` grants them and revokes everything else. A change that lets
 * an app use another table or column adds it here.
 */
export const APP_RIGHTS: Readonly<Record<AppName, AppRights>> = {
  gateway: GATEWAY,
  'batch-worker': BATCH_WORKER,
  'video-worker': VIDEO_WORKER,
  credentials: CREDENTIALS,
  auth: AUTH,
};
