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

/** What a row of each table must say, in an order in which they can be stored. */
function possessions(tenant: WorkspaceTenant, batchId: string, batchNumber: number): [table: string, Values][] {
  const { organizationId, workspaceId } = tenant;
  const owner = { organization_id: organizationId, workspace_id: workspaceId };
  const apiKeyHash = randomBytes(32).toString('hex');
  const id = randomUUID();
  const [day, account] = [new Date().toISOString().slice(0, 10), `org:${organizationId}`];
  const owned = { ...owner, api_key_hash: apiKeyHash };
  const line = { created_on: day, batch_number: batchNumber, seq: 0, custom_id: 'a' };
  const call = { endpoint: '/v1/chat/completions', model: 'vendor/model' };
  const expires = { expires_at: '2099-01-01' };
  const sealed = { key_encryption_key_id: 'k', wrapped_data_key: '\\x00', sealed_key: 's' };
  const hash = randomBytes(32).toString('hex');
  const bytes = `\\x${hash}`;
  return [
    ['organizations', { id: organizationId, name: 'A tenant' }],
    ['workspaces', { id: workspaceId, organization_id: organizationId, name: 'Default', slug: 'default' }],
    ['api_keys', { ...owner, hash: apiKeyHash, id, kind: 'api', name: 'A key', label: 'sk-' }],
    ['authorization_codes', { ...owner, ...expires, code_hash: hash, key_name: 'A key' }],
    ['identity_issuers', { id, organization_id: organizationId, name: 'An issuer', issuer_url: 'https://a.example' }],
    [
      'federation_policies',
      {
        ...{ id, organization_id: organizationId, issuer_id: id, name: 'A policy', subject: 'me', audience: 'us' },
        ...{ api_key_hash: apiKeyHash, enabled: true, single_use: false, checks: '[]' },
      },
    ],
    ['credentials', { ...owner, ...sealed, id, provider: 'openai', label: 'sk-', sort_order: 0 }],
    ['webhook_secrets', { ...owner, ...sealed, id }],
    ['webhook_deliveries', { ...owner, id, url: 'https://a.example', host: 'a.example', type: 't', payload: '{}' }],
    [
      'idempotency_keys',
      { organization_id: organizationId, route: 'POST /', key_hash: bytes, request_digest: bytes, effect_id: id },
    ],
    ['audit_entries', { organization_id: organizationId, key_id: id, action: 'POST /keys', request_id: 'r' }],
    [
      'batches',
      { ...owned, ...call, ...expires, id: batchId, number: batchNumber, created_on: day, status: 'in_progress' },
    ],
    ['batch_lines', { ...line, body: '\\x7b7d' }],
    ['batch_segments', { created_on: day, batch_number: batchNumber, number: 0, first_seq: 0, last_seq: 0 }],
    ['batch_results', { ...line, body: '\\x7b7d' }],
    [
      'native_batches',
      {
        ...{ ...owned, ...call, reference: id, batch_id: batchId, batch_number: batchNumber, created_on: day, part: 0 },
        ...{ first_segment: 0, last_segment: 0, first_seq: 0, last_seq: 0, provider: 'v', upstream_model: 'm' },
        finish_by: '2099-01-01',
      },
    ],
    [
      'videos',
      {
        ...{
          ...owned,
          ...expires,
          id,
          model: 'vendor/film',
          provider: 'vendor',
          upstream_model: 'film',
          region: 'global',
        },
        ...{ request: '{}', price_usd: 1, list_price_usd: 1, status: 'pending', step: 'submit' },
      },
    ],
    [
      'generations',
      {
        ...owned,
        id,
        created_on: day,
        api: 'chat',
        model: 'vendor/model',
        streamed: false,
        state: 'open',
        hold_usd: 1,
      },
    ],
    ['generation_contents', { ...owner, created_on: day, generation_id: id, input: '{}', output: '{}' }],
    ['ledger_accounts', { id: account, balance_usd: 7 }],
    [
      'ledger_transfers',
      { reference: id, kind: 'top_up', debit_account: 'funding', credit_account: account, amount_usd: 7 },
    ],
    ['ledger_holds', { ...expires, id, account_id: account, amount_usd: 1 }],
    ['ledger_keys', { api_key_hash: apiKeyHash }],
    ['ledger_key_days', { api_key_hash: apiKeyHash, day, charged_usd: 1 }],
    ['ledger_byok_months', { organization_id: organizationId, month: day, list_usd: 1 }],
    ['outbox', { contract: 'batches.advance-batch', payload: JSON.stringify({ batchId }) }],
  ];
}

/** Stores one row in each table for a new tenant. */
export async function storePropertiedTenant(database: Database, batchNumber: number): Promise<PropertiedTenant> {
  const tenant = { organizationId: randomUUID(), workspaceId: randomUUID() };
  const batchId = `batch-1-${randomUUID()}`;
  const rows = new Map<string, string>();
  for (const [table, values] of possessions(tenant, batchId, batchNumber)) {
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
