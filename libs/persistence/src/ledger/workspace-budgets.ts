import type { Session } from '../session';
import { FIGURES, isSamePeriod, leftOfLimit, TODAY, type SpendingLimit } from './key-limit';

/** Returns the budgets of a workspace as JSON; null if it has none, as most have. */
export function budgetsJson(budgets: readonly SpendingLimit[] | undefined): string | null {
  return budgets === undefined || budgets.length === 0 ? null : JSON.stringify(budgets);
}

const ELEMENT = {
  amount: `(budget->>'amountUsd')::numeric`,
  reset: `budget->>'reset'`,
  includesByok: `(budget->>'includesByok')::boolean`,
};

/** SQL that turns budgets in the JSON expression `json` into rows, one limit each. */
export const budgetRows = (json: string): string => `
    SELECT ${ELEMENT.amount} AS amount, ${ELEMENT.reset} AS reset, ${ELEMENT.includesByok} AS includes_byok
    FROM json_array_elements(${json}) budget`;

/**
 * Starts to record the spending of an organization's workspaces, including past spending.
 *
 * Only organizations with a budget pay for that: every statement that moves money locks the organization's account and
 * reads there whether to write to `ledger_workspaces` as well. So the account is marked first, which waits for running
 * statements and blocks new ones. Then a second statement, which sees their results, sums what the keys have spent and
 * reserved by workspace.
 */
export async function trackWorkspaces(session: Session, organizationId: string): Promise<void> {
  const marked = await session.execute({
    name: 'ledger-track-workspaces',
    sql: `
      INSERT INTO ledger_accounts (id, tracks_workspaces) VALUES ('org:' || $1::uuid, true)
      ON CONFLICT (id) DO UPDATE SET tracks_workspaces = true WHERE NOT ledger_accounts.tracks_workspaces`,
    values: [organizationId],
  });
  if (marked === 0) return;
  await session.execute({ name: 'ledger-add-up-workspaces', sql: ADD_UP_SQL, values: [organizationId] });
}

/** Makes the row of a workspace that was never charged, for its first budget. */
export async function ensureWorkspaceRow(session: Session, organizationId: string, workspaceId: string): Promise<void> {
  await session.execute({
    name: 'ledger-workspace-exists',
    sql: `INSERT INTO ledger_workspaces (workspace_id, organization_id) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
    values: [workspaceId, organizationId],
  });
}

function counting(figure: (typeof FIGURES)[number]): string {
  switch (figure) {
    case 'total':
      return 'true';
    case 'day':
      return `k.spent_on >= ${TODAY}`;
    case 'week':
    case 'month':
      return isSamePeriod(figure, 'k', TODAY);
  }
}

const COLUMNS = FIGURES.flatMap((figure) => [`${figure}_usd`, `byok_${figure}_usd`]);

const ADD_UP_SQL = `
  INSERT INTO ledger_workspaces (workspace_id, organization_id, held_usd, spent_on, ${COLUMNS.join(', ')})
  SELECT a.workspace_id, a.organization_id, sum(k.held_usd), ${TODAY}, ${FIGURES.flatMap((figure) =>
    [`${figure}_usd`, `byok_${figure}_usd`].map(
      (column) => `coalesce(sum(k.${column}) FILTER (WHERE ${counting(figure)}), 0)`,
    ),
  ).join(', ')}
  FROM ledger_keys k JOIN api_keys a ON a.hash = k.api_key_hash
  WHERE a.organization_id = $1 AND a.workspace_id IS NOT NULL
  GROUP BY a.workspace_id, a.organization_id`;

export interface WorkspaceHold {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly amountUsd: string;
  readonly budgets?: readonly SpendingLimit[] | undefined;
}

/**
 * Reserves money for a workspace, in the transaction of a statement that locked the account of its organization.
 * Returns false if a budget does not cover it.
 */
export async function holdOnWorkspace(session: Session, hold: WorkspaceHold): Promise<boolean> {
  const { organizationId, workspaceId, amountUsd, budgets } = hold;
  await ensureWorkspaceRow(session, organizationId, workspaceId);
  const covered = await session.execute({
    name: 'ledger-hold-on-workspace',
    sql: `
      UPDATE ledger_workspaces w SET held_usd = w.held_usd + $2::numeric
      WHERE w.workspace_id = $1 AND NOT EXISTS (
        SELECT FROM (${budgetRows('$3::json')}) given WHERE $2::numeric > ${leftOfLimit('w', GIVEN)})`,
    values: [workspaceId, amountUsd, budgetsJson(budgets)],
  });
  return covered === 1;
}

const GIVEN = { amount: 'given.amount', reset: 'given.reset', includesByok: 'given.includes_byok' };
