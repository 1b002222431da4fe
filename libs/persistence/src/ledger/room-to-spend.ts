import { AppError } from '@libs/errors';
import type { Session, SqlValue } from '../session';
import { leftOfLimit, type SpendingLimit } from './key-limit';
import type { AmountToHold, HoldRefusal } from './set-aside';
import { budgetRows, budgetsJson } from './workspace-budgets';

/** Whose money is asked for. */
export type Spender = Omit<AmountToHold, 'amountUsd'>;

const GIVEN_LIMIT = { amount: '$3::numeric', reset: '$4::text', includesByok: '$5::boolean' };
const GIVEN_BUDGET = { amount: 'given.amount', reset: 'given.reset', includesByok: 'given.includes_byok' };

const ROOM_SQL = `
  SELECT trim_scale(greatest(0, (SELECT balance_usd - held_usd FROM ledger_accounts WHERE id = 'org:' || $1::uuid)))::text
           AS credits,
         trim_scale(greatest(0, (SELECT ${leftOfLimit('k', GIVEN_LIMIT)} FROM ledger_keys k WHERE k.api_key_hash = $2)))::text
           AS key_limit,
         budget.reset, trim_scale(greatest(0, budget.left_usd))::text AS budget
  FROM (SELECT) one
  LEFT JOIN LATERAL (
    SELECT given.reset, ${leftOfLimit('w', GIVEN_BUDGET)} AS left_usd
    FROM (${budgetRows('$7::json')}) given JOIN ledger_workspaces w ON w.workspace_id = $6
    ORDER BY left_usd LIMIT 1
  ) budget ON true`;

type Room = Readonly<Record<HoldRefusal, string | null>> & { readonly reset: SpendingLimit['reset'] };

/** Returns the refusal of an amount: what refuses it, what is left of that now, and what was asked. */
export async function refusalOf(
  session: Pick<Session, 'firstRow'>,
  spender: Spender,
  { by, amountUsd }: { readonly by: HoldRefusal; readonly amountUsd: string },
): Promise<AppError> {
  const values = roomValues(spender);
  const room = await session.firstRow<Room>({ name: 'ledger-room-to-spend', sql: ROOM_SQL, values });
  const leftUsd = room?.[by] ?? '0';
  return new AppError(
    'payment_required',
    `${describe(by, room?.reset ?? null)} ${leftUsd} USD; this request reserves ${amountUsd} USD`,
    { metadata: { limit: by, left_usd: leftUsd, reserved_usd: amountUsd } },
  );
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
