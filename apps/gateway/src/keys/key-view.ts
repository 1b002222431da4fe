import type { CurrentKeyDto, KeyDto, KeyLimitsDto, KeyRecord, LimitReset } from '@libs/contracts';
import { parseUsd, usdNumber } from '@libs/inference';
import type { KeyUsageFigures } from './key-usage';

/** A key in the shape of `Key` of the interface. */
export function keyView(key: KeyRecord, usage: KeyUsageFigures): KeyDto {
  return {
    hash: key.hash,
    name: key.name,
    ...limitsView(key, usage),
    disabled: key.disabled,
    workspace_id: key.workspaceId,
    external_user: null,
    created_at: key.createdAt,
    updated_at: key.updatedAt,
  };
}

/** A key in the shape of `CurrentKey` of the interface. */
export function currentKeyView(key: KeyRecord, usage: KeyUsageFigures): CurrentKeyDto {
  const isManagementKey = key.kind === 'management';
  return {
    ...limitsView(key, usage),
    is_free_tier: false,
    is_management_key: isManagementKey,
    is_provisioning_key: isManagementKey,
    organization_id: key.organizationId,
    workspace_id: key.workspaceId,
    allowed_data_regions: ['global'],
    free_model_daily_requests: { limit: 0, used: 0, remaining: 0 },
    rate_limit: { requests: -1, interval: '10s', note: 'Deprecated: limits are answered in X-RateLimit headers.' },
  };
}

function limitsView(key: KeyRecord, usage: KeyUsageFigures): KeyLimitsDto {
  return {
    label: key.label,
    limit: key.limitUsd === null ? null : Number(key.limitUsd),
    limit_remaining: remaining(key, usage),
    limit_reset: key.limitReset,
    include_byok_in_limit: key.includeByokInLimit,
    usage: Number(usage.totalUsd),
    usage_daily: Number(usage.dailyUsd),
    usage_weekly: Number(usage.weeklyUsd),
    usage_monthly: Number(usage.monthlyUsd),
    byok_usage: Number(usage.byokTotalUsd),
    byok_usage_daily: Number(usage.byokDailyUsd),
    byok_usage_weekly: Number(usage.byokWeeklyUsd),
    byok_usage_monthly: Number(usage.byokMonthlyUsd),
    expires_at: key.expiresAt,
    creator_user_id: key.creatorUserId,
  };
}

function remaining(key: KeyRecord, usage: KeyUsageFigures): number | null {
  if (key.limitUsd === null) return null;
  const [ownUsd, byokUsd] = spentInPeriod(key.limitReset, usage);
  const spent = parseUsd(ownUsd) + (key.includeByokInLimit ? parseUsd(byokUsd) : 0n);
  const left = parseUsd(key.limitUsd) - spent;
  return usdNumber(left > 0n ? left : 0n);
}

function spentInPeriod(reset: LimitReset | null, usage: KeyUsageFigures): [ownUsd: string, byokUsd: string] {
  switch (reset) {
    case 'daily':
      return [usage.dailyUsd, usage.byokDailyUsd];
    case 'weekly':
      return [usage.weeklyUsd, usage.byokWeeklyUsd];
    case 'monthly':
      return [usage.monthlyUsd, usage.byokMonthlyUsd];
    case null:
      return [usage.totalUsd, usage.byokTotalUsd];
  }
}
