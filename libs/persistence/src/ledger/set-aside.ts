import type { Session } from '../session';
import { leftOfLimit, type SpendingLimit } from './key-limit';
import { holdOnWorkspace, trackWorkspaces } from './workspace-budgets';

/** What refused an amount: the organization's credits, the key's limit or a budget of the workspace. */
export type HoldRefusal = 'credits' | 'key_limit' | 'budget';

export interface AmountToHold {
  readonly organizationId: string;
  readonly workspaceId: string;
  /** The key against whose limit the money counts. */
  readonly apiKeyHash: string;
  /** Null: the key may spend everything that its organization has. */
  readonly keyLimit: SpendingLimit | null;
  /** Budgets of the workspace, which must all cover the amount; absent if it has none. */
  readonly budgets?: readonly SpendingLimit[] | undefined;
  /** Exact decimal in US dollars. */
  readonly amountUsd: string;
}

const GIVEN_LIMIT = { amount: '$3::numeric', reset: '$4::text', includesByok: '$5::boolean' };

/**
 * Reserves an amount from the credits of an organization, the limit of a key and the budgets of a workspace. One
 * guarded statement for each, in this order, checks and takes it, so no two callers deadlock. In the same transaction,
 * the caller must record what the amount is held for.
 * @returns what refused it; the transaction must then end without a commit
 */
export async function setAside(session: Session, hold: AmountToHold): Promise<HoldRefusal | null> {
  const account = await session.firstRow<{ tracks: boolean }>({
    name: 'ledger-set-aside',
    sql: `
      UPDATE ledger_accounts SET held_usd = held_usd + $2::numeric
      WHERE id = 'org:' || $1::uuid AND balance_usd - held_usd >= $2::numeric
      RETURNING tracks_workspaces AS tracks`,
    values: [hold.organizationId, hold.amountUsd],
  });
  if (account === null) return 'credits';
  // Done before the key's amount, because a workspace's held amount is the sum of its keys' amounts so far.
  if (hold.budgets && !account.tracks) await trackWorkspaces(session, hold.organizationId);
  if (!(await isHeldByKey(session, hold))) return 'key_limit';
  if ((hold.budgets || account.tracks) && !(await holdOnWorkspace(session, hold))) return 'budget';
  return null;
}

async function isHeldByKey(session: Session, { apiKeyHash, amountUsd, keyLimit }: AmountToHold): Promise<boolean> {
  await session.execute({
    name: 'ledger-key-exists',
    sql: 'INSERT INTO ledger_keys (api_key_hash) VALUES ($1) ON CONFLICT DO NOTHING',
    values: [apiKeyHash],
  });
  const covered = await session.execute({
    name: 'ledger-hold-on-key',
    sql: `
      UPDATE ledger_keys k SET held_usd = k.held_usd + $2::numeric
      WHERE k.api_key_hash = $1 AND ($3::numeric IS NULL OR $2::numeric <= ${leftOfLimit('k', GIVEN_LIMIT)})`,
    values: [
      apiKeyHash,
      amountUsd,
      keyLimit?.amountUsd ?? null,
      keyLimit?.reset ?? null,
      keyLimit?.includesByok ?? false,
    ],
  });
  return covered === 1;
}
