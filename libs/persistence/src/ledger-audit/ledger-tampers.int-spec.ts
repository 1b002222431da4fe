import { randomUUID } from 'node:crypto';
import { BatchRemovalRepository } from '../batches/batch-removal.repository';
import { GenerationsRepository } from '../generations/generations.repository';
import { ByokAllowance } from '../ledger/byok-allowance';
import { OutboxRepository } from '../outbox/outbox.repository';
import {
  aSettlement,
  chargedBatch,
  chargedCall,
  chargedVideo,
  openTestDatabase,
  storeVideo,
  type OpenTestDatabase,
} from '../testing';
import type { LedgerFinding } from './ledger-finding';
import { LedgerAuditRepository } from './ledger-audit.repository';

/** Every column of an amount that the audit vouches for, and in which rows. */
const PERIODS = ['day', 'week', 'month', 'byok_day', 'byok_week', 'byok_month'];
const TAMPERS: readonly (readonly [table: string, column: string, rows?: string])[] = [
  ['ledger_transfers', 'amount_usd', `kind = 'charge'`],
  ['ledger_transfers', 'amount_usd', `kind = 'top_up'`],
  ['generations', 'cost_usd', `state <> 'abandoned'`],
  ['generations', 'cost_usd', `state = 'abandoned'`],
  ['generations', 'hold_usd', `state = 'open'`],
  ['batch_results', 'cost_usd'],
  ['batch_results', 'prompt_cost_usd'],
  ['batch_results', 'completion_cost_usd'],
  ['videos', 'cost_usd', 'cost_usd IS NOT NULL'],
  ['ledger_accounts', 'balance_usd'],
  ['ledger_accounts', 'held_usd'],
  ['ledger_accounts', 'overage_usd'],
  ['ledger_accounts', 'credited_usd'],
  ['ledger_holds', 'amount_usd', `state = 'open'`],
  ['ledger_holds', 'settled_usd'],
  ['ledger_holds', 'settled_byok_usd'],
  ['ledger_keys', 'held_usd'],
  ['ledger_keys', 'total_usd'],
  ['ledger_keys', 'byok_total_usd'],
  ['ledger_key_days', 'charged_usd'],
  ['ledger_key_days', 'byok_usd'],
  ['ledger_workspaces', 'held_usd'],
  ['ledger_workspaces', 'total_usd'],
  ['ledger_workspaces', 'byok_total_usd'],
  ...PERIODS.map((period) => ['ledger_keys', `${period}_usd`] as const),
  ...PERIODS.map((period) => ['ledger_workspaces', `${period}_usd`] as const),
  ['ledger_holds', 'overage_usd'],
  ['ledger_holds', 'list_usd', 'list_usd IS NOT NULL'],
  ['videos', 'price_usd'],
  ['videos', 'list_price_usd'],
  ['ledger_byok_months', 'list_usd'],
];
/** Amounts inside JSON: the path of each, and whether it is a text. */
const DETAILS = [
  'providerToolsUsd',
  'gatewayToolsUsd',
  'cacheDiscountUsd',
  'upstreamCostUsd',
  'tokensUsd',
  'uncachedUsd',
];
const TOOLS_OF_CALLS = ['web_search', 'code_interpreter'];
const COST_DETAILS = ['prompt_cost', 'completions_cost', 'cost'].map(
  (name) => `cost_details,upstream_inference_${name}`,
);
const JSON_TAMPERS: readonly (readonly [table: string, column: string, path: string])[] = [
  ...DETAILS.map((path) => ['generations', 'details', path] as const),
  ...TOOLS_OF_CALLS.map((tool) => ['generations', 'details', `providerTools,${tool}`] as const),
  ...['asked,1,costUsd', 'turns,0,costUsd', 'turns,0,providerTools,mcp', 'askedUsd'].map(
    (path) => ['generations', 'details', path] as const,
  ),
  ...['providerTools,mcp', 'tokensUsd'].map((path) => ['batch_results', 'usage_details', path] as const),
  ...['cost', ...COST_DETAILS].map((path) => ['batches', 'usage', path] as const),
];
/** A month may hold less than what own providers charged: calls count from when there was an allowance. */
const ONLY_MORE_IS_FOUND = ['ledger_byok_months'];
/** Numeric columns that no other row can prove, or that are no record of money. */
const NOT_VOUCHED_FOR: Readonly<Record<string, string>> = {
  'api_keys.limit_usd': 'a setting of the owner; the audit trail says who changed it',
  'authorization_codes.limit_usd': 'a setting that a code carries to its key',
  'workspace_budgets.limit_usd': 'a setting of the owner; the audit trail says who changed it',
  'ledger_holds.raised_usd': 'of the last charge alone, and overwritten by the next; overage_usd keeps the sum',
  'ledger_audit_totals.amount_usd': 'made anew by each full audit; incremental audits compare it with balances',
  'ledger_audits.drift_picousd': 'the result of an audit, overwritten by the next',
};

const PARTS = [
  { providerToolsUsd: '0.02' },
  { providerToolsUsd: '0.02', providerTools: { web_search: '0.015', code_interpreter: '0.005' } },
  { gatewayToolsUsd: '0.01' },
  { cacheDiscountUsd: '-0.0000125' },
  { providerToolsUsd: '0.02', gatewayToolsUsd: '0.01', cacheDiscountUsd: '0.003' },
];
const ASKED = { provider: 'maker', model: 'large-1', promptTokens: 9, completionTokens: 2, costUsd: '0.004' };
const CALLS_FOR_OTHERS = [
  { asked: [ASKED, { ...ASKED, costUsd: '0.000000000001' }] },
  { turns: [{ ...ASKED, providerTools: { mcp: '0.001' } }, ASKED] },
  { asked: [ASKED, ASKED], turns: [{ ...ASKED, providerTools: { mcp: '0.001', web_search: '0.002' } }] },
];
const TAMPERED_ROWS = 1_000;
const BUDGET = { amountUsd: '100', reset: 'daily', includesByok: false } as const;
/** The columns by which findings name a row of each table. */
const NAMED_BY = [
  'id',
  'reference',
  'generation_id',
  'api_key_hash',
  'workspace_id',
  'credit_account',
  'debit_account',
  'account_id',
  'organization_id',
];

let opened: OpenTestDatabase;
let audits: LedgerAuditRepository;

beforeAll(async () => {
  opened = await openTestDatabase();
  const { database } = opened;
  audits = new LedgerAuditRepository(database);
  const byok = { details: { attempts: [], isByok: true, upstreamCostUsd: '2' } } as const;
  for (let call = 0; call < 6; call += 1) {
    await chargedCall(database, '0.02');
    await chargedCall(database, '0.2', { budgets: [BUDGET] });
    await chargedCall(database, '0.05', { budgets: [BUDGET] }, byok);
    await chargedCall(database, null, { budgets: [BUDGET] });
    await chargedCall(database, '0');
  }
  for (const parts of [...PARTS, ...CALLS_FOR_OTHERS]) {
    await chargedCall(database, '0.07', {}, { details: { attempts: [], ...parts } });
    const own = { attempts: [], isByok: true, upstreamCostUsd: '0.9', ...parts } as const;
    await chargedCall(database, '0.07', {}, { details: own });
  }
  const waived = await chargedCall(database, null);
  const allowed = new GenerationsRepository(database, new ByokAllowance('10'));
  await allowed.settle([aSettlement(waived, '0.1', { byokFeeUsd: '0.1', ...byok })]);
  await new GenerationsRepository(database).abandon([await chargedCall(database, null)]);
  await chargedBatch(database, 6);
  const ownKey = { costUsd: '0.001', byokFeeUsd: '0.001' };
  await chargedBatch(database, 3, ownKey);
  await chargedBatch(database, 3, { byokFeeUsd: '0.02' });
  const { number } = await chargedBatch(database, 3, ownKey);
  await database.execute({ sql: 'UPDATE batch_results SET is_byok = NULL WHERE batch_number = $1', values: [number] });
  const usageDetails = { providerTools: { mcp: '0.003', web_search: '0.001' }, tokensUsd: '0.016', webSearches: 1 };
  await chargedBatch(database, 3, { usageDetails });
  await chargedBatch(database, 3, { ...ownKey, usageDetails });
  await chargedVideo(database, '0.5');
  await chargedVideo(database, '0.025', '0.5');
  const keyLimit = { amountUsd: '10', reset: null, includesByok: true };
  const own = { credentialId: randomUUID(), priceUsd: '0.025', listPriceUsd: '0.5', holdUsd: '0.525', keyLimit };
  await chargedVideo(database, '0.025', '0.5', own);
  const uncounted = {
    ...own,
    credentialId: randomUUID(),
    holdUsd: '0.025',
    keyLimit: { ...keyLimit, includesByok: false },
  };
  await chargedVideo(database, '0.025', '0.5', uncounted);
  await storeVideo(database, uncounted);
  await chargedBatch(database, 5, { isRunning: true });
}, 60_000);

afterAll(() => opened?.close());

async function tampered<T>(sql: readonly [forth: string, back: string], work: () => Promise<T>): Promise<T> {
  expect([sql[0], await opened.database.execute({ sql: sql[0] })]).toEqual([sql[0], 1]);
  try {
    return await work();
  } finally {
    await opened.database.execute({ sql: sql[1] });
  }
}

type Row = Readonly<Record<string, string | number | null>>;

async function rowsOf(table: string, condition: string): Promise<Row[]> {
  const rows = await opened.database.rows<{ row: Row }>({
    sql: `SELECT to_jsonb(t) - 'body' AS row FROM ${table} t WHERE ${condition} ORDER BY md5(to_jsonb(t)::text)`,
  });
  return rows.map(({ row }) => row);
}

/** A condition that the row meets alone, whatever of its amounts is changed. */
function where(row: Row): string {
  const keys = Object.entries(row).filter(([name, value]) => IDENTIFYING.has(name) && value !== null);
  return keys.map(([name, value]) => `${name} = '${value}'`).join(' AND ');
}

const IDENTIFYING = new Set([
  'id',
  'reference',
  'kind',
  'batch_number',
  'seq',
  'api_key_hash',
  'day',
  'workspace_id',
  'month',
  'organization_id',
]);
const full = async (): Promise<readonly LedgerFinding[]> => (await audits.audit({ isFull: true })).findings;

describe('a full audit of the ledger', () => {
  it('finds nothing where nobody tampered', async () => {
    expect(await audits.audit({ isFull: true })).toMatchObject({ count: 0, driftPicousd: 0n, findings: [] });
  });

  it('has a decision on every numeric column of the database', async () => {
    const columns = await opened.database.rows<{ name: string }>({
      sql: `SELECT table_name || '.' || column_name AS name FROM information_schema.columns
            JOIN pg_class c ON c.oid = format('%I.%I', table_schema, table_name)::regclass
            WHERE data_type = 'numeric' AND table_schema = current_schema() AND NOT c.relispartition`,
    });
    const decided = [...TAMPERS.map(([table, column]) => `${table}.${column}`), ...Object.keys(NOT_VOUCHED_FOR)];
    expect(columns.map(({ name }) => name).toSorted()).toEqual([...new Set(decided)].toSorted());
  });

  it('finds and names each of 1,000 random tampers of one micro-dollar in a single row', async () => {
    for (let round = 0; round < TAMPERED_ROWS; round += 1) {
      const [table, column, condition = 'true'] = TAMPERS[round % TAMPERS.length]!;
      const rows = await rowsOf(table, condition);
      const row = rows[Math.floor(Math.random() * rows.length)]!;
      const by = round % 3 === 0 && !ONLY_MORE_IS_FOUND.includes(table) ? '-0.000001' : '0.000001';
      // A hold of nothing cannot become less.
      const amount = Number(row[column]) === 0 ? '0.000001' : by;
      const set = (sign: string): string =>
        `UPDATE ${table} SET ${column} = ${column} ${sign} (${amount}) WHERE ${where(row)}`;
      const report = await tampered([set('+'), set('-')], () => audits.audit({ isFull: true }));
      const what = [table, column, row];
      const names = NAMED_BY.flatMap((name) => (typeof row[name] === 'string' ? [row[name]] : []));
      if (table === 'batch_results') names.push(...(await batchOf(row)));
      expect([what, report.count > 0 && report.driftPicousd >= 1_000_000n]).toEqual([what, true]);
      expect([what, report.findings.some(({ id }) => names.some((name) => id.includes(name)))]).toEqual([what, true]);
    }
    expect(await full()).toEqual([]);
  }, 300_000);

  it('finds and names each of 300 random tampers of one micro-dollar in an amount inside JSON', async () => {
    for (let round = 0; round < 300; round += 1) {
      const [table, column, path] = JSON_TAMPERS[round % JSON_TAMPERS.length]!;
      const rows = await rowsOf(table, `${column}::jsonb #>> '{${path}}' IS NOT NULL`);
      const row = rows[Math.floor(Math.random() * rows.length)]!;
      const value = (by: string): string => `((${column}::jsonb #>> '{${path}}')::numeric + (${by}))`;
      const amount = (by: string): string => `to_jsonb(${value(by)}${table === 'batches' ? '' : '::text'})`;
      const set = (by: string): string =>
        `UPDATE ${table} SET ${column} = jsonb_set(${column}::jsonb, '{${path}}', ${amount(by)})::${
          table === 'generations' ? 'json' : 'jsonb'
        } WHERE ${where(row)}`;
      const by = round % 2 === 0 ? ['0.000001', '-0.000001'] : ['-0.000001', '0.000001'];
      const report = await tampered([set(by[0]!), set(by[1]!)], () => audits.audit({ isFull: true }));
      const name = row.id ?? row.generation_id;
      const what = [table, path, name];
      const names = path === 'upstreamCostUsd' ? [name, row.api_key_hash] : [name];
      expect([what, report.findings.some(({ id }) => names.includes(id))]).toEqual([what, true]);
    }
    expect(await full()).toEqual([]);
  }, 120_000);

  it('has a decision on every amount in the details of calls', async () => {
    const names = await opened.database.rows<{ name: string }>({
      sql: `SELECT DISTINCT match[1] AS name
            FROM generations, regexp_matches(details::text, '"([A-Za-z]*Usd)":', 'g') AS match`,
    });
    const decided = JSON_TAMPERS.filter(([table]) => table === 'generations').map(([, , path]) =>
      path.split(',').at(-1)!,
    );
    for (const { name } of names) expect(decided).toContain(name);
    expect(names.map(({ name }) => name)).toContain('costUsd');
  });

  it('finds a call of a tool loop that was taken out of its record', async () => {
    const [row] = await rowsOf('generations', `details::jsonb -> 'turns' IS NOT NULL`);
    const before = (row as unknown as { details: object }).details;
    const set = (details: object): string =>
      `UPDATE generations SET details = '${JSON.stringify(details)}'::json WHERE id = '${row!['id']}'`;
    const { turns: _turns, ...rest } = before as { turns: unknown };
    const findings = await tampered([set(rest), set(before)], full);
    expect(findings).toMatchObject([{ kind: 'charge', id: row!['id'], figure: 'details: asked + turns' }]);
  });

  it('finds a changed part of the usage of a batch whose results are gone', async () => {
    const { id, owner } = await chargedBatch(opened.database, 3);
    const removal = new BatchRemovalRepository(opened.database, new OutboxRepository(opened.database));
    await removal.remove(id, owner, false);
    expect(await full()).toEqual([]);
    const set = (by: string): string =>
      `UPDATE batches SET usage = jsonb_set(usage, '{cost_details,upstream_inference_prompt_cost}',
         to_jsonb((usage #>> '{cost_details,upstream_inference_prompt_cost}')::numeric + (${by}))) WHERE id = '${id}'`;
    const findings = await tampered([set('0.000001'), set('-0.000001')], full);
    expect(findings).toMatchObject([{ kind: 'batch', id, figure: 'usage.cost_details' }]);
  });

  async function batchOf(row: Row): Promise<string[]> {
    const sql = 'SELECT id FROM batches WHERE number = $1';
    return (await opened.database.rows<{ id: string }>({ sql, values: [Number(row.batch_number)] })).map(
      ({ id }) => id,
    );
  }

  it('finds a changed list price of each video on an own key', async () => {
    const rows = await rowsOf('videos', 'credential_id IS NOT NULL');
    expect(rows).toHaveLength(3);
    for (const row of rows) {
      const set = (by: string): string =>
        `UPDATE videos SET list_price_usd = list_price_usd + (${by}) WHERE ${where(row)}`;
      const findings = await tampered([set('0.01'), set('-0.01')], full);
      expect(findings).toContainEqual(expect.objectContaining({ kind: 'video', id: row.id, figure: 'list_price_usd' }));
    }
  });

  it.each([
    ['usage.cost of a batch', 'batches', `usage = jsonb_set(usage, '{cost}', to_jsonb((usage->>'cost')::numeric + $))`],
    [
      'what an own provider charged',
      'generations',
      `details = (jsonb_set(details::jsonb, '{upstreamCostUsd}', to_jsonb(((details->>'upstreamCostUsd')::numeric + $)::text)))::json`,
    ],
  ])('finds a changed %s', async (_what, table, set) => {
    const condition = table === 'batches' ? 'usage IS NOT NULL' : `details->>'upstreamCostUsd' IS NOT NULL`;
    for (const row of (await rowsOf(table, condition)).slice(0, 3)) {
      const sql = (by: string): string => `UPDATE ${table} SET ${set.replace('$', by)} WHERE ${where(row)}`;
      const findings = await tampered([sql('0.000001'), sql('(-0.000001)')], full);
      const names = [row.id, row.api_key_hash];
      expect([row, findings.some(({ id }) => names.includes(id))]).toEqual([row, true]);
    }
    expect(await full()).toEqual([]);
  });

  it.each([
    ['debit_account', `'org:${randomUUID()}'`],
    ['credit_account', `'elsewhere'`],
    ['workspace_id', `'${randomUUID()}'`],
    ['api_key_hash', `'${'e'.repeat(64)}'`],
    ['created_at', `created_at - interval '1 day'`],
    ['reference', `reference || '-'`],
  ])('finds a charge with another %s', async (column, value) => {
    const row = (await rowsOf('ledger_transfers', `kind = 'charge'`))[0] as Readonly<Record<string, string>>;
    const name = column === 'reference' ? [`${row.reference}-`, row.reference] : [row.reference, row.reference];
    const findings = await tampered(
      [
        `UPDATE ledger_transfers SET ${column} = ${value} WHERE reference = '${row.reference}'`,
        `UPDATE ledger_transfers SET ${column} = '${row[column]}' WHERE reference = '${name[0]}'`,
      ],
      full,
    );
    const named = column === 'created_at' ? row.api_key_hash! : name[0]!;
    // The charge of a line is found by its batch, whose id begins alike.
    const batch = /^gen-(batch-.*).{6}$/.exec(named)?.[1] ?? named;
    const isNamed = findings.some(({ id }) => id.includes(named) || id.startsWith(batch));
    expect([findings, isNamed]).toEqual([findings, true]);
  });

  it.each([
    ['ledger_transfers', `kind = 'charge'`],
    ['ledger_transfers', `kind = 'top_up'`],
    ['generations', 'cost_usd > 0'],
    ['generations', `state = 'open'`],
    ['batch_results', 'true'],
    ['ledger_key_days', 'charged_usd > 0'],
    ['ledger_keys', 'total_usd > 0'],
    ['ledger_workspaces', 'total_usd > 0'],
    ['ledger_workspaces', 'total_usd = 0 AND held_usd > 0'],
    ['videos', 'cost_usd > 0'],
    ['videos', 'finished_at IS NULL'],
  ])('finds that a row of %s (%s) is gone', async (table, condition) => {
    const row = (await rowsOf(table, condition))[0]!;
    const copy = `copy_${randomUUID().replaceAll('-', '')}`;
    await opened.database.execute({ sql: `CREATE TABLE ${copy} AS SELECT * FROM ${table} WHERE ${where(row)}` });
    const back = `INSERT INTO ${table} SELECT * FROM ${copy}`;
    const findings = await tampered([`DELETE FROM ${table} WHERE ${where(row)}`, back], full);
    await opened.database.execute({ sql: `DROP TABLE ${copy}` });
    expect([table, findings.length > 0]).toEqual([table, true]);
    expect(await full()).toEqual([]);
  });

  it.each(['video', 'chat'])('finds a second row of a call of the API %s on another day', async (api) => {
    const row = (await rowsOf('generations', `api = '${api}' AND cost_usd > 0`))[0]!;
    const columns = Object.keys(row).filter((name) => name !== 'created_on' && name !== 'written_in');
    const copy = `INSERT INTO generations (created_on, ${columns.join(', ')})
      SELECT created_on - 1, ${columns.join(', ')} FROM generations WHERE ${where(row)}`;
    const back = `DELETE FROM generations WHERE ${where(row)} AND created_on < '${row['created_on']}'`;
    const reports = await tampered([copy, back], async () => [
      await audits.audit({ isFull: false }),
      await audits.audit({ isFull: true }),
    ]);
    const found = { kind: 'charge', id: row['id'], figure: 'source without charge' };
    for (const { findings } of reports) expect(findings).toContainEqual(expect.objectContaining(found));
    expect(await full()).toEqual([]);
  });
});
