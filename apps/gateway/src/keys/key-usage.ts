import type { KeyLimit, Tenant } from '@libs/persistence';

/**
 * The spending of one key, in decimal US dollars. Periods begin at 00:00 UTC: this day, this week (from Monday), this
 * month; `total` is since the key was created. `byok` figures are for calls with the owner's own provider credentials,
 * the others for calls with the service's; neither includes the other.
 */
export interface KeyUsageFigures {
  readonly totalUsd: string;
  readonly dailyUsd: string;
  readonly weeklyUsd: string;
  readonly monthlyUsd: string;
  readonly byokTotalUsd: string;
  readonly byokDailyUsd: string;
  readonly byokWeeklyUsd: string;
  readonly byokMonthlyUsd: string;
}

/**
 * Port to the ledger: one request for all keys of a page. A key that never spent anything, or that belongs to another
 * organization, may be missing in the answer.
 */
export abstract class KeyUsage {
  abstract usageOf(tenant: Tenant, keyHashes: readonly string[]): Promise<ReadonlyMap<string, KeyUsageFigures>>;

  /** Returns when keys were last used; leaves out unused ones. */
  abstract lastUsesOf(tenant: Tenant, keyHashes: readonly string[]): Promise<ReadonlyMap<string, Date>>;

  /** Returns what is left of limits, as decimal US dollars, never below 0; one figure for each requested key. */
  abstract leftOf(tenant: Tenant, limits: ReadonlyMap<string, KeyLimit>): Promise<ReadonlyMap<string, string>>;
}

export const NOTHING_SPENT: KeyUsageFigures = {
  totalUsd: '0',
  dailyUsd: '0',
  weeklyUsd: '0',
  monthlyUsd: '0',
  byokTotalUsd: '0',
  byokDailyUsd: '0',
  byokWeeklyUsd: '0',
  byokMonthlyUsd: '0',
};
