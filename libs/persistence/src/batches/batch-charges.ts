/** SQL for the part of an amount that a hold must cover: including own providers' charges if a limit counts them. */
export const counted = (usd: string, byokUsd: string): string =>
  `(${usd} + CASE WHEN h.counts_byok THEN ${byokUsd} ELSE 0 END)`;
const COUNTED_NOW = counted('h.settled_usd + bill.cost_usd', 'h.settled_byok_usd + bill.byok_usd');

/**
 * SQL: whether a hold does not cover so many more lines at the mean cost of this group. Only the next few thousand
 * lines matter, because there is time to notice. The second condition is exact, and is evaluated for few groups only.
 */
const isAhead = (lines: string): string =>
  `${counted('h.settled_usd', 'h.settled_byok_usd')}
    + CASE WHEN h.counts_byok THEN bill.counted_line_usd ELSE bill.line_usd END * least(${lines}, ${LINES_AHEAD}) > h.amount_usd`;
const LINES_AHEAD = 4_096;
const LINES_LEFT = `b.total - bill.lines - (
        SELECT sum(s.completed + s.failed) FROM batch_segments s WHERE s.batch_number = b.number)`;

/** Amounts spent beyond holds are added to the held amount from now on, even if the credits do not cover them. */
const RAISED = `raised_account AS (
    UPDATE ledger_accounts a SET held_usd = a.held_usd + locked.usd, overage_usd = a.overage_usd + locked.usd
    FROM (
      SELECT l.id, raised.usd FROM ledger_accounts l JOIN (
        SELECT account_id, sum(raised_usd) AS usd FROM settled WHERE raised_usd > 0 GROUP BY account_id
      ) raised ON l.id = raised.account_id ORDER BY l.id FOR UPDATE OF l
    ) locked WHERE a.id = locked.id
    RETURNING a.id, a.tracks_workspaces
  ), raised_key AS (
    UPDATE ledger_keys k SET held_usd = k.held_usd + raised.usd
    FROM (
      SELECT settled.api_key_hash, sum(settled.raised_usd) AS usd
      FROM settled JOIN raised_account ON raised_account.id = settled.account_id GROUP BY settled.api_key_hash
    ) raised WHERE k.api_key_hash = raised.api_key_hash
    RETURNING k.api_key_hash
  ), raised_workspace AS (
    UPDATE ledger_workspaces w SET held_usd = w.held_usd + raised.usd
    FROM (
      SELECT settled.workspace_id, sum(settled.raised_usd) AS usd
      FROM settled JOIN raised_account ON raised_account.id = settled.account_id
      WHERE raised_account.tracks_workspaces GROUP BY settled.workspace_id
    ) raised WHERE w.workspace_id = raised.workspace_id
    RETURNING w.workspace_id
  )`;

/**
 * SQL for the cost of stored results: common table expressions from `charged` to `raised_workspace`, after one with the
 * name `stored`. The statement must read those that raise, so that accounts are locked before keys.
 */
export const CHARGES = `charged AS (
    INSERT INTO ledger_transfers (reference, kind, debit_account, credit_account, amount_usd, workspace_id, api_key_hash)
    SELECT stored.generation_id, 'charge', 'org:' || b.organization_id, 'revenue', stored.cost_usd, b.workspace_id,
      b.api_key_hash
    FROM stored JOIN batches b ON b.number = stored.batch_number
    WHERE stored.cost_usd > 0
  ), bill AS (
    SELECT batch_number, sum(cost_usd) AS cost_usd, sum(byok_usd) AS byok_usd, count(*) AS lines,
      avg(cost_usd) FILTER (WHERE cost_usd > 0) AS line_usd,
      avg(cost_usd + byok_usd) FILTER (WHERE cost_usd + byok_usd > 0) AS counted_line_usd
    FROM stored GROUP BY batch_number
  ), spent AS (
    INSERT INTO ledger_key_days AS k (api_key_hash, day, charged_usd, byok_usd)
    SELECT b.api_key_hash, (now() AT TIME ZONE 'UTC')::date, sum(bill.cost_usd), sum(bill.byok_usd)
    FROM bill JOIN batches b ON b.number = bill.batch_number GROUP BY b.api_key_hash ORDER BY b.api_key_hash
    ON CONFLICT (api_key_hash, day) DO UPDATE SET
      charged_usd = k.charged_usd + excluded.charged_usd, byok_usd = k.byok_usd + excluded.byok_usd
  ), settled AS (
    UPDATE ledger_holds h SET settled_usd = h.settled_usd + bill.cost_usd,
      settled_byok_usd = h.settled_byok_usd + bill.byok_usd,
      raised_usd = greatest(0, ${COUNTED_NOW} - h.amount_usd),
      overage_usd = h.overage_usd + greatest(0, ${COUNTED_NOW} - h.amount_usd),
      amount_usd = greatest(h.amount_usd, ${COUNTED_NOW})
    FROM bill JOIN batches b ON b.number = bill.batch_number WHERE h.id = b.id AND h.state = 'open'
    RETURNING bill.batch_number, h.account_id, h.api_key_hash, h.workspace_id, h.raised_usd,
      b.is_metered OR h.raised_usd > 0 OR ${isAhead('b.total - bill.lines')} AND ${isAhead(LINES_LEFT)} AS is_ahead
  ), ${RAISED}`;
