import { AppError } from '@libs/errors';
import type { Session, SqlValue } from '../session';
import { leftOfLimit, type SpendingLimit } from './key-limit';
import { noteCovered, noteHeldBack } from './held-back';
import type { AmountToHold, HoldRefusal } from './set-aside';
import { budgetRows, budgetsJson } from './workspace-budgets';

/** The organization, key and workspace whose money is needed. */
export type Spender = Omit<AmountToHold, 'amountUsd'>;

const GIVEN_LIMIT = { amount: '$3::numeric', reset: '$4::text', includesByok: '$5::boolean' };
const GIVEN_BUDGET = { amount: 'given.amount', reset: 'given.reset', includesByok: 'given.includes_byok' };

const ROOM_SQL = `
  SELECT trim_scale(greatest(0, a.balance_usd - a.held_usd))::text AS credits,
         trim_scale(greatest(0, key_left.usd))::text AS key_limit,
         budget.reset, trim_scale(greatest(0, budget.left_usd))::text AS budget,
         coalesce(a.balance_usd >= $8::numeric, false) AND coalesce(key_left.usd + k.held_usd >= $8::numeric, true)
           AND coalesce(budget.left_usd + budget.held_usd >= $8::numeric, true) AS "isHeldBack",
         CASE $9::text WHEN 'credits' THEN a.balance_usd - a.held_usd WHEN 'key_limit' THEN key_left.usd
           ELSE budget.left_usd END >= $8::numeric AS "isCovered"
  FROM (SELECT) one
  LEFT JOIN ledger_accounts a ON a.id = 'org:' || $1::uuid
  LEFT JOIN ledger_keys k ON k.api_key_hash = $2
  LEFT JOIN LATERAL (SELECT ${leftOfLimit('k', GIVEN_LIMIT)} AS usd) key_left ON true
  LEFT JOIN LATERAL (
    SELECT given.reset, w.held_usd, ${leftOfLimit('w', GIVEN_BUDGET)} AS left_usd
    FROM (${budgetRows('$7::json')}) given JOIN ledger_workspaces w ON w.workspace_id = $6
    ORDER BY left_usd LIMIT 1
  ) budget ON true`;

interface Room extends Readonly<Record<HoldRefusal, string | null>> {
  readonly reset: SpendingLimit['reset'];
  /** Whether the amount is covered if all that is set aside is given back. */
  readonly isHeldBack: boolean;
  /** Whether what refused the amount covers it by now. */
  readonly isCovered: boolean | null;
}

/** Returns the error for a refused amount: what refused it, what is left of that now, and what was requested. */
export async function refusalOf(
  session: Pick<Session, 'firstRow'>,
  spender: Spender,
  { by, amountUsd }: { readonly by: HoldRefusal; readonly amountUsd: string },
): Promise<AppError> {
  const values = [...roomValues(spender), amountUsd, by];
  const room = await session.firstRow<Room>({ name: 'ledger-room-to-spend', sql: ROOM_SQL, values });
  const leftUsd = room?.[by] ?? '0';
  const error = new AppError(
    'payment_required',
    `${describe(by, room?.reset ?? null)} ${leftUsd} USD; this request reserves ${amountUsd} USD`,
    { metadata: { limit: by, left_usd: leftUsd, reserved_usd: amountUsd } },
  );
  if (room?.isCovered === true) return noteCovered(error);
  return room?.isHeldBack === true ? noteHeldBack(error) : error;
}

function roomValues({ organizationId, apiKeyHash, keyLimit, workspaceId, budgets }: Spender): SqlValue[] {
  const { amountUsd = null, reset = null, includesByok = false } = keyLimit ?? {};
  return [organizationId, apiKeyHash, amountUsd, reset, includesByok, workspaceId, budgetsJson(budgets)];
}

function describe(by: HoldRefusal, reset: SpendingLimit['reset']): string {
  switch (by) {
    case 'credits':
      return 'Insufficient credits: the organization has';
    case 'key_limit':
      return 'The spending limit of this key leaves';
    case 'budget':
      return `The ${reset ?? 'lifetime'} budget of this workspace leaves`;
  }
}
