import type { LedgerRepository } from '@libs/persistence';
import { eventually } from './eventually';

/** Waits until nothing of an organization is reserved any more, and returns its balance in US dollars. */
export async function settledBalanceUsd(
  ledger: LedgerRepository,
  organizationId: string,
  withinMs: number,
): Promise<number> {
  const balanceUsd = await eventually('nothing is reserved', withinMs, async () => {
    const account = await ledger.accountOf(organizationId);
    return Number(account.heldUsd) === 0 ? account.balanceUsd : undefined;
  });
  return Number(balanceUsd);
}
