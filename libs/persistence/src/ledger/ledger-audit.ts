/** Every transfer and every open hold, beside what the rows that are changed with them say; one row per difference. */
export const AUDIT_SQL = `
  WITH movement AS (
    SELECT credit_account AS id, amount_usd AS amount FROM ledger_transfers
    UNION ALL
    SELECT debit_account, -amount_usd FROM ledger_transfers
  ), replayed AS (
    SELECT id, sum(amount) AS balance FROM movement WHERE id LIKE 'org:%' GROUP BY id
  ), open_hold AS (
    SELECT account_id AS id, sum(amount_usd) AS held, sum(settled_usd) AS unapplied
    FROM ledger_holds WHERE state = 'open' GROUP BY account_id
  ), open_generation AS (
    SELECT 'org:' || organization_id AS id, sum(hold_usd) AS held
    FROM generations WHERE state = 'open' GROUP BY organization_id
  ), key_charges AS (
    SELECT api_key_hash, sum(amount_usd) AS charged FROM ledger_transfers WHERE kind = 'charge' GROUP BY api_key_hash
  ), key_days AS (
    SELECT api_key_hash, sum(charged_usd) AS charged FROM ledger_key_days GROUP BY api_key_hash
  ), key_holds AS (
    SELECT api_key_hash, sum(held) AS held, sum(settled) AS settled FROM (
      SELECT api_key_hash, amount_usd AS held, settled_usd AS settled FROM ledger_holds WHERE state = 'open'
      UNION ALL
      SELECT api_key_hash, hold_usd, 0 FROM generations WHERE state = 'open'
    ) open GROUP BY api_key_hash
  ), tracked AS (
    SELECT substr(id, 5)::uuid AS organization_id, id AS account_id FROM ledger_accounts WHERE tracks_workspaces
  ), workspace_charges AS (
    SELECT workspace_id, sum(amount_usd) AS charged FROM ledger_transfers
    WHERE kind = 'charge' AND debit_account IN (SELECT account_id FROM tracked) GROUP BY workspace_id
  ), workspace_holds AS (
    SELECT workspace_id, sum(held) AS held, sum(settled) AS settled FROM (
      SELECT workspace_id, amount_usd AS held, settled_usd AS settled FROM ledger_holds
      WHERE state = 'open' AND account_id IN (SELECT account_id FROM tracked)
      UNION ALL
      SELECT workspace_id, hold_usd, 0 FROM generations
      WHERE state = 'open' AND organization_id IN (SELECT organization_id FROM tracked)
    ) open GROUP BY workspace_id
  ), compared AS (
    SELECT coalesce(a.id, r.id) AS id,
           coalesce(a.balance_usd, 0) - coalesce(r.balance, 0) - coalesce(h.unapplied, 0) AS balance,
           coalesce(a.held_usd, 0) - coalesce(h.held, 0) - coalesce(g.held, 0) AS held
    FROM ledger_accounts a
    FULL JOIN replayed r ON r.id = a.id
    LEFT JOIN open_hold h ON h.id = coalesce(a.id, r.id)
    LEFT JOIN open_generation g ON g.id = coalesce(a.id, r.id)
    UNION ALL
    SELECT 'key:' || api_key_hash, coalesce(d.charged, 0) - coalesce(c.charged, 0), 0
    FROM key_charges c FULL JOIN key_days d USING (api_key_hash)
    UNION ALL
    SELECT 'limit:' || api_key_hash,
           coalesce(k.total_usd, 0) + coalesce(h.settled, 0) - coalesce(c.charged, 0),
           coalesce(k.held_usd, 0) - coalesce(h.held, 0)
    FROM ledger_keys k FULL JOIN key_holds h USING (api_key_hash) FULL JOIN key_charges c USING (api_key_hash)
    UNION ALL
    SELECT 'budget:' || workspace_id,
           coalesce(w.total_usd, 0) + coalesce(h.settled, 0) - coalesce(c.charged, 0),
           coalesce(w.held_usd, 0) - coalesce(h.held, 0)
    FROM ledger_workspaces w FULL JOIN workspace_holds h USING (workspace_id)
    FULL JOIN workspace_charges c USING (workspace_id)
  )
  SELECT id, balance::text AS balance, held::text AS held FROM compared WHERE balance <> 0 OR held <> 0 ORDER BY id`;
