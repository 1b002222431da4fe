import { CALLS, IS_EMPTIED, MOVED, rowHash } from './charges-sql';
import { isLate, PERIODS_SQL } from './periods-sql';

/** Accepts digits only: these statements create tables, for which PostgreSQL accepts no parameters. */
function digits(id: string): string {
  if (!/^\d{1,20}$/.test(id)) throw new Error('the id of a transaction is a number');
  return id;
}

/**
 * SQL that sums the transfers by the accounts between which they moved money. Reads those from transaction `from` on
 * (null: all). `past_usd` is the part of transactions below `xmin`, which are all over. `gone` are lines of emptied
 * batches; `hash` covers the other rows. Statistics on these tables let PostgreSQL see how few groups there are, and
 * sum in parallel.
 */
export function movedSql(from: string | null, xmin: string): string {
  const recent = `sum(amount_usd) FILTER (WHERE written_in >= ${digits(xmin)})`;
  return `
    CREATE TEMP TABLE ${MOVED} ON COMMIT DROP AS
    SELECT kind, debit_account, credit_account, workspace_id, api_key_hash,
           (created_at AT TIME ZONE 'UTC')::date AS day,
           count(*) AS transfers, sum(amount_usd) AS amount_usd, sum(amount_usd) - coalesce(${recent}, 0) AS past_usd,
           count(*) FILTER (WHERE ${IS_EMPTIED}) AS gone,
           coalesce(sum(amount_usd) FILTER (WHERE ${IS_EMPTIED}), 0) AS gone_usd,
           bit_xor(${rowHash('reference', 'amount_usd')}) FILTER (WHERE NOT ${IS_EMPTIED}) AS hash
    FROM ledger_transfers t ${from === null ? '' : `WHERE written_in >= ${digits(from)}`}
    GROUP BY 1, 2, 3, 4, 5, 6`;
}

/** The sums that accounts, keys and workspaces must show; `amount` is a column of `audit_moved`. */
export function totalsSql(amount: 'amount_usd' | 'past_usd'): string {
  return `
    SELECT 'balance' AS scope, credit_account AS id, sum(${amount}) AS amount_usd FROM ${MOVED}
    WHERE credit_account LIKE 'org:%' GROUP BY credit_account
    UNION ALL
    SELECT 'balance', debit_account, -sum(${amount}) FROM ${MOVED} WHERE debit_account LIKE 'org:%' GROUP BY debit_account
    UNION ALL
    SELECT 'credited', credit_account, sum(${amount}) FROM ${MOVED} WHERE kind = 'top_up' GROUP BY credit_account
    UNION ALL
    SELECT 'key', api_key_hash::text, sum(${amount}) FROM ${MOVED}
    WHERE kind = 'charge' AND api_key_hash IS NOT NULL GROUP BY api_key_hash
    UNION ALL
    SELECT 'workspace', debit_account || '/' || workspace_id, sum(${amount}) FROM ${MOVED}
    WHERE kind = 'charge' AND workspace_id IS NOT NULL GROUP BY debit_account, workspace_id`;
}

/** Adds everything below the new watermark to the sums; a full audit empties the table before. */
export const SAVE_TOTALS_SQL = `
  INSERT INTO ledger_audit_totals AS t (scope, id, amount_usd)
  SELECT scope, id, sum(amount_usd) FROM (${totalsSql('past_usd')}) past GROUP BY scope, id
  ON CONFLICT (scope, id) DO UPDATE SET amount_usd = t.amount_usd + excluded.amount_usd`;

const FIGURES = (figures: readonly (readonly [name: string, found: string, expected: string])[]): string => `
  CROSS JOIN LATERAL (VALUES ${figures
    .map(([name, found, expected]) => `('${name}', coalesce(${found}, 0), ${expected})`)
    .join(', ')}) AS f(figure, found, expected)
  WHERE found <> expected`;

const zero = (amount: string): string => `coalesce(${amount}, 0)`;

/**
 * Differences between the transfers plus the held amounts, and the rows of accounts, keys and workspaces. An
 * incremental audit adds the sums of the last one to what it read.
 */
export function booksSql(isFull: boolean): string {
  const earlier = isFull ? '' : 'UNION ALL SELECT scope, id, amount_usd FROM ledger_audit_totals';
  return `
    WITH expected AS MATERIALIZED (
      SELECT scope, id, sum(amount_usd) AS usd FROM (${totalsSql('amount_usd')} ${earlier}) part GROUP BY scope, id
    ), open AS MATERIALIZED (
      SELECT account_id, api_key_hash, workspace_id, amount_usd AS held, settled_usd AS settled, settled_byok_usd AS byok
      FROM ledger_holds WHERE state = 'open'
      UNION ALL
      SELECT 'org:' || organization_id, api_key_hash, workspace_id, hold_usd, 0, 0 FROM generations WHERE state = 'open'
    ), account AS (
      SELECT id, sum(held) AS held, sum(settled) AS settled FROM (
        SELECT account_id AS id, held, settled FROM open) o GROUP BY id
    ), key AS (
      SELECT api_key_hash::text AS id, sum(held) AS held, sum(settled) AS settled, sum(byok) AS byok
      FROM open WHERE api_key_hash IS NOT NULL GROUP BY 1
    ), key_day AS (
      SELECT api_key_hash::text AS id, sum(charged_usd) AS charged, sum(byok_usd) AS byok FROM ledger_key_days GROUP BY 1
    ), workspace AS (
      SELECT account_id || '/' || workspace_id AS id, sum(held) AS held, sum(settled) AS settled
      FROM open WHERE workspace_id IS NOT NULL
        AND account_id IN (SELECT a.id FROM ledger_accounts a WHERE tracks_workspaces) GROUP BY 1
    )
    SELECT 'account' AS kind, id, figure, found, expected
    FROM (SELECT * FROM ledger_accounts) a
    FULL JOIN (SELECT id, usd AS moved FROM expected WHERE scope = 'balance') b USING (id)
    FULL JOIN (SELECT id, usd AS topped_up FROM expected WHERE scope = 'credited') c USING (id)
    FULL JOIN account USING (id)
    ${FIGURES([
      ['balance_usd', 'balance_usd', `${zero('moved')} + ${zero('settled')}`],
      ['held_usd', 'held_usd', zero('held')],
      ['credited_usd', 'credited_usd', zero('topped_up')],
    ])}
    UNION ALL
    SELECT 'key', id, figure, found, expected
    FROM (SELECT api_key_hash::text AS id, total_usd, held_usd, byok_total_usd FROM ledger_keys) k
    FULL JOIN (SELECT id, usd AS charges FROM expected WHERE scope = 'key') e USING (id)
    FULL JOIN (SELECT id, charged, byok AS day_byok FROM key_day) d USING (id)
    FULL JOIN key USING (id)
    ${FIGURES([
      ['total_usd', `total_usd + ${zero('settled')}`, zero('charges')],
      ['held_usd', 'held_usd', zero('held')],
      ['byok_total_usd', `byok_total_usd + ${zero('byok')}`, zero('day_byok')],
      ['charged_usd of its days', 'charged', zero('charges')],
    ])}
    UNION ALL
    SELECT 'workspace', split_part(id, '/', 2), figure, found, expected
    FROM (SELECT 'org:' || organization_id || '/' || workspace_id AS id, total_usd, held_usd FROM ledger_workspaces) w
    FULL JOIN (
      SELECT id, usd AS charges FROM expected WHERE scope = 'workspace'
        AND split_part(id, '/', 1) IN (SELECT a.id FROM ledger_accounts a WHERE tracks_workspaces)) e USING (id)
    FULL JOIN workspace USING (id)
    ${FIGURES([
      ['total_usd', `total_usd + ${zero('settled')}`, zero('charges')],
      ['held_usd', 'held_usd', zero('held')],
    ])}`;
}

/**
 * SQL that sums the calls by day, with the same columns as the sums of transfers, plus overage and own providers'
 * charges, which transfers do not contain. `direct_usd` excludes videos, which are charged on their holds.
 */
export const SUM_CALLS_SQL = `
  CREATE TEMP TABLE ${CALLS} ON COMMIT DROP AS
  SELECT 'org:' || organization_id AS account_id, workspace_id, api_key_hash, day, charges, cost_usd, hash,
         coalesce(direct_usd, 0) AS direct_usd, coalesce(late_usd, 0) AS late_usd, coalesce(overage, 0) AS overage,
         coalesce(byok, 0) AS byok, coalesce(late_byok, 0) AS late_byok
  FROM (
    SELECT organization_id, workspace_id, api_key_hash, (settled_at AT TIME ZONE 'UTC')::date AS day,
           sum(cost_usd) FILTER (WHERE api <> 'video') AS direct_usd,
           sum(cost_usd) FILTER (WHERE api <> 'video' AND ${isLate('settled_at')}) AS late_usd,
           sum((details->>'upstreamCostUsd')::numeric) FILTER (
             WHERE api <> 'video' AND details IS NOT NULL AND ${isLate('settled_at')}) AS late_byok,
           count(*) FILTER (WHERE cost_usd <> 0) AS charges, sum(cost_usd) AS cost_usd,
           bit_xor(${rowHash('id', 'cost_usd')}) FILTER (WHERE cost_usd <> 0) AS hash,
           sum(cost_usd - hold_usd) FILTER (WHERE cost_usd > hold_usd AND api <> 'video') AS overage,
           sum((details->>'upstreamCostUsd')::numeric) FILTER (WHERE api <> 'video' AND details IS NOT NULL) AS byok
    FROM generations WHERE state = 'settled' OR cost_usd <> 0 GROUP BY 1, 2, 3, 4
  ) summed`;

/** Differences in figures that only a full audit can recompute; runs after `movedSql(null, …)` and SUM_CALLS_SQL. */
export const REPLAYED_SQL = `
  WITH spent AS MATERIALIZED (
    SELECT account_id, workspace_id, api_key_hash, overage, byok FROM ${CALLS}
    UNION ALL
    SELECT h.account_id, coalesce(h.workspace_id, b.workspace_id, v.workspace_id),
           coalesce(h.api_key_hash, b.api_key_hash, v.api_key_hash),
           h.overage_usd + CASE WHEN h.state = 'resolved' THEN greatest(0, h.settled_usd - h.amount_usd) ELSE 0 END,
           h.settled_byok_usd
    FROM ledger_holds h LEFT JOIN batches b ON b.id = h.id LEFT JOIN videos v ON v.id = h.id
  ), open_byok AS (
    SELECT workspace_id, sum(settled_byok_usd) AS byok FROM ledger_holds WHERE state = 'open' GROUP BY workspace_id
  )
  SELECT 'account' AS kind, id, figure, found, expected
  FROM ledger_accounts a FULL JOIN (SELECT account_id AS id, sum(overage) AS overage FROM spent GROUP BY 1) s USING (id)
  ${FIGURES([['overage_usd', 'overage_usd', zero('overage')]])}
  UNION ALL
  SELECT 'key', id, figure, found, expected
  FROM (SELECT api_key_hash AS id, sum(byok_usd) AS days FROM ledger_key_days GROUP BY 1) d
  FULL JOIN (SELECT api_key_hash AS id, sum(byok) AS byok FROM spent WHERE api_key_hash IS NOT NULL GROUP BY 1) s USING (id)
  ${FIGURES([['byok_usd of its days', 'days', zero('byok')]])}
  UNION ALL
  SELECT 'key_day', api_key_hash || ' ' || day, figure, found, expected
  FROM ledger_key_days FULL JOIN (
    SELECT api_key_hash, day, sum(amount_usd) AS charges FROM ${MOVED}
    WHERE kind = 'charge' AND api_key_hash IS NOT NULL GROUP BY 1, 2) c USING (api_key_hash, day)
  ${FIGURES([['charged_usd', 'charged_usd', zero('charges')]])}
  UNION ALL
  SELECT 'workspace', w.workspace_id::text, figure, found, expected
  FROM ledger_workspaces w
  LEFT JOIN (SELECT workspace_id, sum(byok) AS byok FROM spent GROUP BY 1) s ON s.workspace_id = w.workspace_id
  LEFT JOIN open_byok o ON o.workspace_id = w.workspace_id
  ${FIGURES([['byok_total_usd', `byok_total_usd + ${zero('o.byok')}`, zero('s.byok')]])}
  UNION ALL ${PERIODS_SQL}`;
