import { randomBytes, randomUUID } from 'node:crypto';
import type { Database } from '../database';
import type { WorkspaceTenant } from '../tenants/tenant';

/** A tenant that has one row in each table that holds what belongs to tenants. */
export interface PropertiedTenant extends WorkspaceTenant {
  readonly batchId: string;
  /** By table: the row as JSON text. */
  readonly rows: ReadonlyMap<string, string>;
}

type Values = Readonly<Record<string, string | number | boolean>>;

type Possession = readonly [table: string, values: Values];

/** What the rows of a tenant have in common, by the names of columns. */
function commonValues({ organizationId, workspaceId }: WorkspaceTenant) {
  const organization = { organization_id: organizationId };
  const owner = { ...organization, workspace_id: workspaceId };
  const key = { api_key_hash: randomBytes(32).toString('hex') };
  return {
    id: randomUUID(),
    day: new Date().toISOString().slice(0, 10),
    organization,
    owner,
    key,
    owned: { ...owner, ...key },
    expires: { expires_at: '2099-01-01' },
    model: { model: 'vendor/model' },
    account: `org:${organizationId}`,
  };
}

type Common = ReturnType<typeof commonValues>;

function accountPossessions({ workspaceId }: WorkspaceTenant, common: Common): Possession[] {
  const { id, organization, owner, key, expires } = common;
  const issuer = { name: 'An issuer', issuer_url: 'https://issuer.example' };
  const policy = { issuer_id: id, name: 'A policy', subject: 'me', audience: 'us', checks: '[]' };
  const sealed = { key_encryption_key_id: 'k', wrapped_data_key: '\\x00', sealed_key: 's' };
  const bytes = `\\x${key.api_key_hash}`;
  const request = { route: 'POST /', key_hash: bytes, request_digest: bytes, effect_id: id };
  return [
    ['organizations', { id: organization.organization_id, name: 'A tenant' }],
    ['workspaces', { ...organization, id: workspaceId, name: 'Default', slug: 'default' }],
    ['workspace_budgets', { ...owner, id, interval: 'daily', limit_usd: 1 }],
    ['workspace_members', { ...owner, id, user_id: 'user_1' }],
    ['api_keys', { ...owner, hash: key.api_key_hash, id, kind: 'api', name: 'A key', label: 'sk-' }],
    ['authorization_codes', { ...owner, ...expires, code_hash: key.api_key_hash, key_name: 'A key' }],
    ['identity_issuers', { ...organization, ...issuer, id }],
    ['federation_policies', { ...organization, ...key, ...policy, id, enabled: true, single_use: false }],
    ['credentials', { ...owner, ...sealed, id, provider: 'openai', label: 'sk-', sort_order: 0 }],
    ['webhook_secrets', { ...owner, ...sealed, id }],
    ['webhook_deliveries', { ...owner, id, url: 'https://a.example', host: 'a.example', type: 't', payload: '{}' }],
    ['idempotency_keys', { ...organization, ...request }],
    ['last_uses', { ...organization, subject: key.api_key_hash, used_at: '2026-01-01' }],
    ['audit_entries', { ...organization, key_id: id, action: 'POST /keys', request_id: 'r' }],
  ];
}

function workPossessions(batchId: string, batchNumber: number, common: Common): Possession[] {
  const { id, day, owner, owned, expires, model } = common;
  const ofBatch = { created_on: day, batch_number: batchNumber };
  const endpoint = { ...model, endpoint: '/v1/chat/completions' };
  const line = { ...ofBatch, seq: 0, custom_id: 'a', body: '\\x7b7d' };
  const range = { first_seq: 0, last_seq: 0 };
  const served = { provider: 'vendor', upstream_model: 'model' };
  const part = { part: 0, first_segment: 0, last_segment: 0, finish_by: '2099-01-01' };
  const film = { region: 'global', request: '{}', price_usd: 1, list_price_usd: 1, status: 'pending', step: 'submit' };
  const call = { created_on: day, api: 'chat', streamed: false, state: 'open', hold_usd: 1 };
  return [
    [
      'batches',
      { ...owned, ...endpoint, ...expires, id: batchId, number: batchNumber, created_on: day, status: 'in_progress' },
    ],
    ['batch_lines', line],
    ['batch_segments', { ...ofBatch, ...range, number: 0 }],
    ['batch_results', line],
    [
      'native_batches',
      { ...owned, ...ofBatch, ...endpoint, ...range, ...served, ...part, reference: id, batch_id: batchId },
    ],
    ['videos', { ...owned, ...expires, ...model, ...served, ...film, id }],
    ['generations', { ...owned, ...model, ...call, id }],
    ['generation_contents', { ...owner, created_on: day, generation_id: id, input: '{}', output: '{}' }],
    ['outbox', { contract: 'batches.advance-batch', payload: JSON.stringify({ batchId }) }],
  ];
}

function bookPossessions({ id, day, organization, owner, key, expires, account }: Common): Possession[] {
  const topUp = { kind: 'top_up', debit_account: 'funding', credit_account: account, amount_usd: 7 };
  return [
    ['ledger_accounts', { id: account, balance_usd: 7 }],
    ['ledger_transfers', { ...topUp, reference: id }],
    ['ledger_holds', { ...expires, id, account_id: account, amount_usd: 1 }],
    ['ledger_keys', key],
    ['ledger_workspaces', owner],
    ['ledger_key_days', { ...key, day, charged_usd: 1 }],
    ['ledger_byok_months', { ...organization, month: day, list_usd: 1 }],
  ];
}

/** Stores one row in each table for a new tenant. */
export async function storePropertiedTenant(database: Database, batchNumber: number): Promise<PropertiedTenant> {
  const tenant = { organizationId: randomUUID(), workspaceId: randomUUID() };
  const batchId = `batch-1-${randomUUID()}`;
  const common = commonValues(tenant);
  const possessions = [
    ...accountPossessions(tenant, common),
    ...workPossessions(batchId, batchNumber, common),
    ...bookPossessions(common),
  ];
  const rows = new Map<string, string>();
  for (const [table, values] of possessions) {
    const columns = Object.keys(values);
    const stored = await database.firstRow<{ row: string }>({
      sql: `INSERT INTO ${table} AS t (${columns.join(', ')}) VALUES (${columns.map((_, index) => `$${index + 1}`).join(', ')})
            RETURNING to_jsonb(t)::text AS row`,
      values: Object.values(values),
    });
    rows.set(table, stored!.row);
  }
  return { ...tenant, batchId, rows };
}
