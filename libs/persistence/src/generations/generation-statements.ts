import { waiveFees } from '../ledger/byok-allowance';
import { chargeKeys, chargeWorkspaces, leftOfLimit } from '../ledger/key-limit';
import { budgetRows } from '../ledger/workspace-budgets';

const LIMIT_COLUMNS = { amount: 'limited.amount', reset: 'limited.reset', includesByok: 'limited.includes_byok' };
const BUDGET_COLUMNS = { amount: 'budget.amount', reset: 'budget.reset', includesByok: 'budget.includes_byok' };

/** Additional SQL parts of a statement that opens calls, if some of them have budgets. */
interface BudgetParts {
  readonly judged: string;
  readonly condition: string;
  readonly left: string;
  readonly refusal: string;
  readonly join: string;
}

const NO_BUDGETS: BudgetParts = { judged: '', condition: '', left: 'NULL', refusal: '', join: '' };

const BUDGETS: BudgetParts = {
  judged: `budget AS (
    SELECT DISTINCT payer.workspace_id, payer.organization_id, given.*
    FROM payer CROSS JOIN LATERAL (${budgetRows('payer.budgets')}) given
  ), locked_workspace AS (
    SELECT w.* FROM ledger_workspaces w
    WHERE w.workspace_id IN (SELECT workspace_id FROM budget) AND (SELECT count(*) FROM locked_key) >= 0
    ORDER BY w.workspace_id FOR UPDATE
  ), budgeted AS (
    SELECT budget.workspace_id, min(${leftOfLimit('w', BUDGET_COLUMNS)}) -
             (SELECT sum(hold_usd) FROM asked WHERE asked.workspace_id = budget.workspace_id) AS workspace_left
    FROM budget JOIN locked_workspace w USING (workspace_id)
    JOIN locked_account ON locked_account.id = 'org:' || budget.organization_id AND locked_account.tracks_workspaces
    GROUP BY budget.workspace_id
  ), `,
  condition: `
    WHERE asked.workspace_id NOT IN (SELECT workspace_id FROM budget)
       OR asked.workspace_id IN (SELECT workspace_id FROM budgeted WHERE workspace_left >= 0)`,
  left: 'budgeted.workspace_left',
  refusal: `WHEN budgeted.workspace_left < 0 THEN 'budget'
              WHEN budgeted.workspace_id IS NULL AND payer.workspace_id IN (SELECT workspace_id FROM budget)
                THEN 'new_workspace'`,
  join: 'LEFT JOIN budgeted USING (workspace_id)',
};

/** The calls to open, their payers, and the rows of these payers, locked; see `openingValues`. */
const LOCKED_PAYERS = `
  WITH payer AS (
    SELECT number, "organizationId" AS organization_id, "workspaceId" AS workspace_id, "apiKeyHash" AS api_key_hash,
           ("keyLimit"->>'amountUsd')::numeric AS amount, "keyLimit"->>'reset' AS reset,
           ("keyLimit"->>'includesByok')::boolean AS includes_byok, budgets
    FROM json_to_recordset($1) AS t(number integer, "organizationId" uuid, "workspaceId" uuid,
                                    "apiKeyHash" character(64), "keyLimit" json, budgets json)
  ), asked AS (
    SELECT call.*, payer.organization_id, payer.workspace_id, payer.api_key_hash
    FROM unnest($2::integer[], $3::text[], $4::date[], $5::text[], $6::text[], $7::boolean[], $8::numeric[])
      AS call(payer, id, created_on, api, model, streamed, hold_usd)
    JOIN payer ON payer.number = call.payer
  ), locked_account AS (
    SELECT a.id, a.tracks_workspaces FROM ledger_accounts a WHERE a.id IN (SELECT 'org:' || organization_id FROM payer)
    ORDER BY a.id FOR UPDATE
  ), locked_key AS (
    SELECT k.* FROM ledger_keys k
    WHERE k.api_key_hash IN (SELECT api_key_hash FROM payer) AND (SELECT count(*) FROM locked_account) >= 0
    ORDER BY k.api_key_hash FOR UPDATE
  ), made_key AS (
    INSERT INTO ledger_keys (api_key_hash)
    SELECT api_key_hash FROM payer EXCEPT SELECT api_key_hash FROM locked_key ORDER BY 1
    ON CONFLICT DO NOTHING
  )`;

/**
 * Accounts are locked before keys, each in the order of their names. What is left of a limit is read from the locked
 * row, so it includes the work of the last lock holder. Workspaces come after keys, and only those of organizations
 * that have any budget, which their account row shows.
 */
const openSql = (budgets: BudgetParts): string => `${LOCKED_PAYERS}, limited AS (
    SELECT DISTINCT ON (api_key_hash) api_key_hash, hold, amount, reset, includes_byok
    FROM payer JOIN (SELECT api_key_hash, sum(hold_usd) AS hold FROM asked GROUP BY api_key_hash) given
      USING (api_key_hash)
    ORDER BY api_key_hash, amount
  ), covered AS (
    SELECT * FROM (
      SELECT k.api_key_hash, ${leftOfLimit('k', LIMIT_COLUMNS)} - limited.hold AS key_left
      FROM limited JOIN locked_key k USING (api_key_hash)
    ) judged WHERE key_left IS NULL OR key_left >= 0
  ), ${budgets.judged}allowed AS (
    SELECT asked.* FROM asked JOIN covered USING (api_key_hash) ${budgets.condition}
  ), total AS (
    SELECT 'org:' || organization_id AS id, sum(hold_usd) AS hold FROM allowed GROUP BY organization_id
  ), funded AS (
    UPDATE ledger_accounts a SET held_usd = a.held_usd + total.hold
    FROM total JOIN locked_account USING (id)
    WHERE a.id = total.id AND a.balance_usd - a.held_usd >= total.hold
    RETURNING a.id, a.balance_usd - a.held_usd AS available, a.tracks_workspaces
  ), admitted AS (
    SELECT allowed.*, funded.tracks_workspaces FROM allowed
    JOIN funded ON funded.id = 'org:' || allowed.organization_id
  ), held_in AS (
    INSERT INTO ledger_workspaces AS w (workspace_id, organization_id, held_usd)
    SELECT workspace_id, organization_id, sum(hold_usd) FROM admitted WHERE tracks_workspaces
    GROUP BY workspace_id, organization_id ORDER BY workspace_id
    ON CONFLICT (workspace_id) DO UPDATE SET held_usd = w.held_usd + excluded.held_usd
  ), key_total AS (
    SELECT api_key_hash, sum(hold_usd) AS hold FROM admitted GROUP BY api_key_hash
  ), held AS (
    UPDATE ledger_keys k SET held_usd = k.held_usd + key_total.hold
    FROM key_total WHERE k.api_key_hash = key_total.api_key_hash
  ), opened AS (
    INSERT INTO generations (id, created_on, organization_id, workspace_id, api_key_hash, api, model, streamed,
                             hold_usd, state)
    SELECT id, created_on, organization_id, workspace_id, api_key_hash, api, model, streamed, hold_usd, 'open'
    FROM admitted
  )
  SELECT funded.available::text AS available, covered.key_left::text AS key_left,
         ${budgets.left}::text AS workspace_left,
         CASE WHEN locked_key.api_key_hash IS NULL THEN 'new_key'
              WHEN covered.api_key_hash IS NULL THEN 'key_limit'
              ${budgets.refusal}
              WHEN funded.id IS NULL THEN 'credits' END AS refused_by
  FROM payer
  LEFT JOIN locked_key USING (api_key_hash)
  LEFT JOIN covered USING (api_key_hash)
  ${budgets.join}
  LEFT JOIN funded ON funded.id = 'org:' || payer.organization_id
  ORDER BY payer.number`;

/** For calls without budgets: amounts are recorded for workspaces with budgets, but no budget is checked. */
export const OPEN_SQL = openSql(NO_BUDGETS);

export const OPEN_BUDGETED_SQL = openSql(BUDGETS);

/** See `settlementValues`. */
const SETTLEMENT = `ROWS FROM (
      unnest($1::text[], $2::date[], $3::uuid[], $4::uuid[], $5::character(64)[], $6::text[], $7::text[],
        $8::boolean[], $9::text[], $10::text[], $11::text[], $12::smallint[], $13::text[], $14::text[], $15::text[],
        $16::bigint[], $17::bigint[], $18::bigint[], $19::bigint[], $20::numeric[], $21::integer[], $22::integer[],
        $23::numeric[]),
      json_array_elements($24)
    ) AS t(id, created_on, organization_id, workspace_id, api_key_hash, api, model, streamed, provider,
      upstream_model, upstream_id, status_code, outcome, finish_reason, usage_provenance, prompt_tokens,
      completion_tokens, cached_tokens, reasoning_tokens, cost_usd, latency_ms, generation_ms, byok_fee_usd, details)`;

/** `first` are the expressions before the charge, `cost` is what a call is charged. */
const settleSql = (first: string, cost: string): string => `
  WITH ${first} settled AS (
    INSERT INTO generations AS g (id, created_on, organization_id, workspace_id, api_key_hash, api, model, streamed,
      hold_usd, provider, upstream_model, upstream_id, status_code, outcome, finish_reason, usage_provenance,
      prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, cost_usd, latency_ms, generation_ms,
      details, state, settled_at)
    SELECT id, created_on, organization_id, workspace_id, api_key_hash, api, model, streamed, 0, provider,
      upstream_model, upstream_id, status_code, outcome, finish_reason, usage_provenance, prompt_tokens,
      completion_tokens, cached_tokens, reasoning_tokens, ${cost}, latency_ms, generation_ms, details,
      'settled', now()
    FROM ${SETTLEMENT}
    ON CONFLICT (id, created_on) DO UPDATE SET
      state = 'settled', settled_at = now(), provider = excluded.provider, upstream_model = excluded.upstream_model,
      upstream_id = excluded.upstream_id, status_code = excluded.status_code, outcome = excluded.outcome,
      finish_reason = excluded.finish_reason, usage_provenance = excluded.usage_provenance,
      prompt_tokens = excluded.prompt_tokens, completion_tokens = excluded.completion_tokens,
      cached_tokens = excluded.cached_tokens, reasoning_tokens = excluded.reasoning_tokens,
      cost_usd = excluded.cost_usd, latency_ms = excluded.latency_ms, generation_ms = excluded.generation_ms,
      details = excluded.details, written_in = excluded.written_in
      WHERE g.state <> 'settled'
    RETURNING g.id, g.organization_id, g.workspace_id, g.api_key_hash, g.hold_usd, g.cost_usd,
      coalesce((g.details->>'upstreamCostUsd')::numeric, 0) AS byok_usd
  ), charged AS (
    INSERT INTO ledger_transfers (reference, kind, debit_account, credit_account, amount_usd, workspace_id, api_key_hash)
    SELECT id, 'charge', 'org:' || organization_id, 'revenue', cost_usd, workspace_id, api_key_hash
    FROM settled WHERE cost_usd > 0
  ), key_total AS (
    SELECT api_key_hash, sum(hold_usd) AS hold, sum(cost_usd) AS cost, sum(byok_usd) AS byok
    FROM settled GROUP BY api_key_hash
  ), spent AS (
    INSERT INTO ledger_key_days AS k (api_key_hash, day, charged_usd, byok_usd)
    SELECT api_key_hash, (now() AT TIME ZONE 'UTC')::date, cost, byok FROM key_total ORDER BY api_key_hash
    ON CONFLICT (api_key_hash, day) DO UPDATE SET
      charged_usd = k.charged_usd + excluded.charged_usd, byok_usd = k.byok_usd + excluded.byok_usd
  ), total AS (
    SELECT 'org:' || organization_id AS id, sum(hold_usd) AS hold, sum(cost_usd) AS cost,
           sum(greatest(0, cost_usd - hold_usd)) AS overage
    FROM settled GROUP BY organization_id
  ), account AS (
    INSERT INTO ledger_accounts AS a (id, balance_usd, overage_usd) SELECT id, -cost, overage FROM total ORDER BY id
    ON CONFLICT (id) DO UPDATE SET
      balance_usd = a.balance_usd + excluded.balance_usd,
      overage_usd = a.overage_usd + excluded.overage_usd,
      held_usd = a.held_usd - (SELECT hold FROM total WHERE total.id = a.id)
    RETURNING a.id, a.tracks_workspaces
  ), spent_in AS (
    SELECT workspace_id, organization_id, sum(hold_usd) AS hold, sum(cost_usd) AS cost, sum(byok_usd) AS byok
    FROM settled JOIN account ON account.id = 'org:' || organization_id
    WHERE account.tracks_workspaces GROUP BY workspace_id, organization_id
  ), workspace_charge AS (${chargeWorkspaces('spent_in')}
  ), key_charge AS (
    SELECT * FROM key_total WHERE (SELECT count(*) FROM account) > 0
  )
  ${chargeKeys('key_charge')}`;

export const SETTLE_SQL = settleSql('', 'cost_usd');

/** Creates missing rows for calls with own keys, because only an existing row can be locked. */
export const ENSURE_BYOK_SQL = `
  INSERT INTO generations (id, created_on, organization_id, workspace_id, api_key_hash, api, model, streamed, hold_usd,
                           state)
  SELECT id, created_on, organization_id, workspace_id, api_key_hash, api, model, streamed, 0, 'open'
  FROM ${SETTLEMENT} WHERE byok_fee_usd IS NOT NULL
  ON CONFLICT (id, created_on) DO NOTHING`;

const DUE_FEES = `unsettled AS (
    SELECT g.id FROM generations g
    JOIN (SELECT id, created_on FROM ${SETTLEMENT} WHERE byok_fee_usd IS NOT NULL) given
      ON g.id = given.id AND g.created_on = given.created_on
    WHERE g.state <> 'settled' ORDER BY g.id FOR UPDATE OF g
  ), due AS (
    SELECT id, organization_id, byok_fee_usd AS fee_usd, (details->>'upstreamCostUsd')::numeric AS list_usd
    FROM ${SETTLEMENT} JOIN unsettled USING (id) WHERE (details->>'upstreamCostUsd')::numeric > 0
  ), ${waiveFees('due', '$25::numeric')},`;

/** Includes the fees that the organization's allowance waives. Runs after ENSURE_BYOK_SQL, in the same transaction. */
export const SETTLE_BYOK_SQL = settleSql(
  DUE_FEES,
  'cost_usd - coalesce((SELECT waived_usd FROM waived WHERE waived.id = t.id), 0)',
);

/** Locks in the same order as the others: accounts before keys. */
export const ABANDON_SQL = `
  WITH stale AS (
    SELECT g.id, g.created_on, organization_id, workspace_id, api_key_hash, hold_usd FROM generations g
    JOIN unnest($1::text[], $2::date[]) AS given(id, created_on)
      ON g.id = given.id AND g.created_on = given.created_on
    WHERE g.state = 'open' ORDER BY g.id FOR UPDATE OF g SKIP LOCKED
  ), abandoned AS (
    UPDATE generations g SET state = 'abandoned', settled_at = now(), hold_usd = 0
    FROM stale WHERE g.id = stale.id AND g.created_on = stale.created_on
    RETURNING stale.id, stale.organization_id, stale.workspace_id, stale.api_key_hash, stale.hold_usd
  ), total AS (
    SELECT 'org:' || organization_id AS id, sum(hold_usd) AS hold FROM abandoned GROUP BY organization_id
  ), locked AS (
    SELECT a.id FROM ledger_accounts a WHERE a.id IN (SELECT id FROM total) ORDER BY a.id FOR UPDATE
  ), account AS (
    UPDATE ledger_accounts a SET held_usd = a.held_usd - total.hold
    FROM total JOIN locked USING (id) WHERE a.id = total.id
    RETURNING a.id, a.tracks_workspaces
  ), given_back AS (
    SELECT workspace_id, organization_id, sum(hold_usd) AS hold, 0 AS cost, 0 AS byok
    FROM abandoned JOIN account ON account.id = 'org:' || organization_id
    WHERE account.tracks_workspaces GROUP BY workspace_id, organization_id
  ), workspace AS (${chargeWorkspaces('given_back')}
  ), key_total AS (
    SELECT api_key_hash, sum(hold_usd) AS hold FROM abandoned
    WHERE (SELECT count(*) FROM account) > 0 GROUP BY api_key_hash
  ), key AS (
    UPDATE ledger_keys k SET held_usd = k.held_usd - key_total.hold
    FROM key_total WHERE k.api_key_hash = key_total.api_key_hash
  )
  SELECT id FROM abandoned`;
