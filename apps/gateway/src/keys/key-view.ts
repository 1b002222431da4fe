import {
  allowedDataRegions,
  NewKeySettings,
  toHttp,
  type CurrentKeyDto,
  type KeyDto,
  type KeyLimitsDto,
  type KeyRecord,
  type Principal,
} from '@libs/contracts';
import type { KeyUsageFigures } from './key-usage';

/** The spending of a key, what is left of its limit (null if it has none), and when it was last used. */
export interface KeySpendingView {
  readonly usage: KeyUsageFigures;
  readonly leftUsd: string | null;
  readonly lastUsedAt: Date | null;
}

/** Returns a key in the form of the API's `Key`. */
export function keyView(key: KeyRecord, spending: KeySpendingView): KeyDto {
  const { limit_usd: _asLimit, ...settings } = toHttp(NewKeySettings, key);
  return {
    hash: key.hash,
    ...settings,
    ...limitsView(key, spending),
    disabled: key.disabled,
    workspace_id: key.workspaceId,
    external_user: null,
    created_at: key.createdAt,
    updated_at: key.updatedAt,
    previous_key_expires_at: key.previousSecretUntil ?? null,
    last_used_at: spending.lastUsedAt?.toISOString() ?? null,
  };
}

/** Returns a key in the form of the API's `CurrentKey`. */
export function currentKeyView(key: KeyRecord, { policies = [] }: Principal, spending: KeySpendingView): CurrentKeyDto {
  const isManagementKey = key.kind === 'management';
  return {
    ...limitsView(key, spending),
    is_free_tier: false,
    is_management_key: isManagementKey,
    is_provisioning_key: isManagementKey,
    organization_id: key.organizationId,
    workspace_id: key.workspaceId,
    allowed_data_regions: allowedDataRegions(policies),
    free_model_daily_requests: { limit: 0, used: 0, remaining: 0 },
    rate_limit: { requests: -1, interval: '10s', note: 'Deprecated: limits are answered in X-RateLimit headers.' },
  };
}

function limitsView(key: KeyRecord, { usage, leftUsd }: KeySpendingView): KeyLimitsDto {
  return {
    label: key.label,
    limit: key.limitUsd === null ? null : Number(key.limitUsd),
    limit_remaining: leftUsd === null ? null : Number(leftUsd),
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
