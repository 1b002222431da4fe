import type { KeyLimit, Tenant } from '@libs/persistence';

/**
 * What one key has spent, as decimal US dollars. Periods begin at 00:00 UTC: this day, this week (from
 * Monday), this month; `total` is since the key was made. `byok` figures are calls that ran on the owner's
 * own provider credentials, the others ran on the service's capacity; neither contains the other.
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
 * The port to the books: one request for all keys of a page. A key that never spent may be left out of the answer, and
 * so is one of another organization.
 */
export abstract class KeyUsage {
  abstract usageOf(tenant: Tenant, keyHashes: readonly string[]): Promise<ReadonlyMap<string, KeyUsageFigures>>;

  /** When keys were last used; those that never were are left out. */
  abstract lastUsesOf(tenant: Tenant, keyHashes: readonly string[]): Promise<ReadonlyMap<string, Date>>;

  /** What is left of limits, as decimal US dollars, never below 0; one figure for every key that is asked about. */
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
