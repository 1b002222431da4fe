import type { Database, Session } from '@libs/persistence';

/** How many transfers to make, and for how many organizations, each with one workspace and one key. */
export interface HistorySize {
  readonly transfers: number;
  readonly organizations: number;
}

const DAYS = 56;
const CHUNK = 500_000;
const LINES_PER_BATCH = 50_000;
/** Of ten transfers, one is the charge of a batch line. */
const LINES_SHARE = 10;
const STATEMENT_SECONDS = 3_600;
const ORGANIZATION = `('00000000-0000-4000-8000-' || lpad(to_hex(payer), 12, '0'))::uuid`;
const WORKSPACE = `('00000000-0000-4000-9000-' || lpad(to_hex(payer), 12, '0'))::uuid`;
const KEY = `lpad(to_hex(payer), 64, '0')`;

/** Fills an empty database with calls and batches of the last eight weeks that were charged as they should be. */
export async function storeHistory(database: Database, { transfers, organizations }: HistorySize): Promise<void> {
  const lines = Math.floor(transfers / LINES_SHARE);
  const calls = transfers - lines;
  await database.execute({
    sql: `SELECT ensure_weekly_partitions(t, current_date - ${DAYS + 7}, current_date)
          FROM unnest(ARRAY['generations', 'batch_results']) t`,
  });
  for (let first = 0; first < calls; first += CHUNK) {
    await inBulk(database, callsSql(first, Math.min(calls, first + CHUNK), { transfers: calls, organizations }));
  }
  for (let batch = 0; batch * LINES_PER_BATCH < lines; batch += 1) {
    await inBulk(database, batchSql(batch, Math.min(LINES_PER_BATCH, lines - batch * LINES_PER_BATCH), organizations));
  }
  for (const sql of BOOKS_SQL) await inBulk(database, sql);
  for (const table of ['generations', 'batch_results', 'ledger_transfers', 'ledger_accounts', 'ledger_keys']) {
    // Autovacuum would do it in time; the audit is measured as on an installation that has run for a while.
    await database.session((session) => vacuum(session, table));
  }
}

async function inBulk(database: Database, sql: string): Promise<void> {
  await database.transaction(async (session) => {
    await session.mayTake(STATEMENT_SECONDS);
    await session.client.query('SET LOCAL synchronous_commit = off');
    await session.client.query(sql);
  });
}

async function vacuum(session: Session, table: string): Promise<void> {
  const { client } = session;
  await session.mayTake(STATEMENT_SECONDS);
  await client.query(`SET statement_timeout = '${STATEMENT_SECONDS}s'`);
  await client.query(`VACUUM (ANALYZE, FREEZE) ${table}`);
  await client.query('RESET statement_timeout');
}

const callsSql = (first: number, end: number, { transfers, organizations }: HistorySize): string => `
  WITH call AS (
    SELECT i % ${organizations} AS payer, now() - interval '${DAYS} days' * (1 - i::float8 / ${transfers}) AS at, i
    FROM generate_series(${first}, ${end - 1}) i
  ), stored AS (
    INSERT INTO generations (id, created_on, organization_id, workspace_id, api_key_hash, api, model, streamed, state,
      hold_usd, cost_usd, prompt_tokens, completion_tokens, details, created_at, settled_at)
    SELECT 'gen-' || floor(extract(epoch FROM at))::bigint || '-' || lpad(to_hex(i), 20, '0'),
      (at AT TIME ZONE 'UTC')::date, ${ORGANIZATION}, ${WORKSPACE}, ${KEY}, 'chat', 'bench/chat', true, 'settled', 0.01,
      (i % 1000 + 1) * 0.000001, 200, 50, '{"attempts":[{"provider":"bench","status":200}]}', at, at
    FROM call RETURNING id, organization_id, workspace_id, api_key_hash, cost_usd, settled_at
  )
  INSERT INTO ledger_transfers (reference, kind, debit_account, credit_account, amount_usd, workspace_id, api_key_hash,
    created_at)
  SELECT id, 'charge', 'org:' || organization_id, 'revenue', cost_usd, workspace_id, api_key_hash, settled_at
  FROM stored`;

/** Batches of the last four weeks. Every second one was emptied by its owner after it was charged. */
const batchSql = (batch: number, lines: number, organizations: number): string => `
  WITH payer AS (SELECT ${batch % organizations} AS payer, now() - interval '1 day' * ${(batch % 26) + 1} AS at),
  stored AS (
    INSERT INTO batches (id, created_on, organization_id, workspace_id, api_key_hash, endpoint, model, status, total,
      completed, failed, usage, created_at, finalized_at, expires_at, deleted_at)
    SELECT 'batch-' || floor(extract(epoch FROM at))::bigint || '-' || lpad('${batch}', 14, '0') || '000000',
      (at AT TIME ZONE 'UTC')::date, ${ORGANIZATION}, ${WORKSPACE}, ${KEY}, '/v1/chat/completions', 'bench/chat',
      'completed', ${lines}, ${lines}, 0, jsonb_build_object('cost', ${lines} * 0.00002), at, at, at,
      ${batch % 2 === 1 ? 'at' : 'NULL'}
    FROM payer RETURNING *
  ), account AS (
    INSERT INTO ledger_accounts (id) SELECT 'org:' || organization_id FROM stored ON CONFLICT DO NOTHING
  ), held AS (
    INSERT INTO ledger_holds (id, account_id, amount_usd, settled_usd, api_key_hash, workspace_id, state, created_at,
      expires_at, resolved_at)
    SELECT id, 'org:' || organization_id, 10, ${lines} * 0.00002, api_key_hash, workspace_id, 'resolved', created_at,
      expires_at, created_at FROM stored
  ), result AS (
    INSERT INTO batch_results (created_on, batch_number, seq, custom_id, generation_id, error, prompt_cost_usd, cost_usd)
    SELECT created_on, number, i, i::text, 'gen-' || left(id, -6) || lpad(i::text, 6, '0'), '{}', 0.00002, 0.00002
    FROM stored, generate_series(0, ${lines - 1}) i WHERE deleted_at IS NULL
  )
  INSERT INTO ledger_transfers (reference, kind, debit_account, credit_account, amount_usd, workspace_id, api_key_hash,
    created_at)
  SELECT 'gen-' || left(id, -6) || lpad(i::text, 6, '0'), 'charge', 'org:' || organization_id, 'revenue', 0.00002,
    workspace_id, api_key_hash, created_at
  FROM stored, generate_series(0, ${lines - 1}) i`;

/** Of the last charge of a key. */
const PERIODS = ['day', 'week', 'month'];

const BOOKS_SQL = [
  `INSERT INTO ledger_key_days (api_key_hash, day, charged_usd)
   SELECT api_key_hash, (created_at AT TIME ZONE 'UTC')::date, sum(amount_usd)
   FROM ledger_transfers WHERE kind = 'charge' GROUP BY 1, 2`,
  `INSERT INTO ledger_keys (api_key_hash, total_usd, spent_on, day_usd, week_usd, month_usd)
   SELECT api_key_hash, sum(charged_usd), max(last), ${PERIODS.map(
     (period) => `coalesce(sum(charged_usd) FILTER (WHERE day >= date_trunc('${period}', last)::date), 0)`,
   ).join(', ')}
   FROM (SELECT *, max(day) OVER (PARTITION BY api_key_hash) AS last FROM ledger_key_days) d GROUP BY 1`,
  `INSERT INTO ledger_accounts (id, balance_usd, credited_usd)
   SELECT debit_account, 1000000 - sum(amount_usd), 1000000 FROM ledger_transfers WHERE kind = 'charge' GROUP BY 1
   ON CONFLICT (id) DO UPDATE SET balance_usd = excluded.balance_usd, credited_usd = excluded.credited_usd`,
  `INSERT INTO ledger_transfers (reference, kind, debit_account, credit_account, amount_usd)
   SELECT 'top-up-' || id, 'top_up', 'funding', id, 1000000 FROM ledger_accounts WHERE credited_usd > 0`,
];

/** The account of the first organization, whose credits the benchmark asks for. */
export const FIRST_ORGANIZATION = '00000000-0000-4000-8000-000000000000';
