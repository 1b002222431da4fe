import {
  buildMessage,
  IsIn,
  IsInt,
  IsOptional,
  IsUUID,
  Max,
  Min,
  ValidateBy,
  type ValidationOptions,
} from 'class-validator';
import { MayBeAbsent } from '../organizations/member-rules';
import { PageQueryDto } from '../organizations/page.dto';
import type { DataRegion } from '../routing/routing-policy';
import { MAX_KEY_OVERLAP } from './key-rotation.messages';
import { HttpFields } from '../validation/derived-classes';
import { KeyChanges, NewKeySettings, type LimitReset } from './keys.messages';
import { MAX_USD, usdFromNumber } from './usd-amount';
import type { ReadOnlyMembers } from '../organizations/read-only-members';

/** A JSON number of US dollars, 0 to MAX_USD, no finer than a pico-dollar. */
export function IsUsdNumber(options?: ValidationOptions): PropertyDecorator {
  return ValidateBy(
    {
      name: 'isUsdNumber',
      validator: {
        validate: (value: unknown) => typeof value === 'number' && usdFromNumber(value) !== null,
        defaultMessage: buildMessage(
          (each) => `${each}$property must be a number from 0 to ${MAX_USD} with at most 12 decimals`,
          options,
        ),
      },
    },
    options,
  );
}

/** Body of `POST /keys`. */
export class CreateKeyDto extends HttpFields(NewKeySettings, 'limitUsd') {
  /** US dollars; null or absent means no limit. */
  @IsOptional()
  @IsUsdNumber()
  limit?: number | null;

  /** Left out: the organization's default workspace. */
  @MayBeAbsent()
  @IsUUID()
  workspace_id?: string;
}

/** Body of `PATCH /keys/{hash}`: absent fields stay unchanged. */
export class UpdateKeyDto extends HttpFields(KeyChanges, 'limitUsd') {
  @IsOptional()
  @IsUsdNumber()
  limit?: number | null;
}

/** Body of `POST /keys/{hash}/rotate`. Ours. */
export class RotateKeyDto {
  /** Seconds for which the old secret continues to work; 0 ends it at once. Default: a day. */
  @MayBeAbsent()
  @IsInt()
  @Min(0)
  @Max(MAX_KEY_OVERLAP)
  overlap_seconds?: number;
}

/** Query of `GET /keys`; query parameters arrive as text. */
export class ListKeysQueryDto extends PageQueryDto {
  /** `true` lists disabled keys too. */
  @MayBeAbsent()
  @IsIn(['true', 'false'])
  include_disabled?: 'true' | 'false';

  @MayBeAbsent()
  @IsUUID()
  workspace_id?: string;
}

/** US dollars a key has spent: `usage*` with the service's own capacity, `byok_usage*` with its owner's. */
export interface KeyUsageDto {
  usage: number;
  usage_daily: number;
  usage_weekly: number;
  usage_monthly: number;
  byok_usage: number;
  byok_usage_daily: number;
  byok_usage_weekly: number;
  byok_usage_monthly: number;
}

/** Fields that the API's `Key` and `CurrentKey` have in common. */
export interface KeyLimitsDto extends KeyUsageDto {
  label: string;
  limit: number | null;
  /** What is left of the limit in its current period, never below 0; null without a limit. */
  limit_remaining: number | null;
  limit_reset: LimitReset | null;
  include_byok_in_limit: boolean;
  expires_at: string | null;
  creator_user_id: string | null;
}

/** `Key` of the interface. */
export interface KeyDto extends KeyLimitsDto, Required<Omit<CreateKeyDto, 'limit' | 'workspace_id'>> {
  hash: string;
  disabled: boolean;
  workspace_id: string | null;
  /** Always null: keys belong to no user outside of the organization. */
  external_user: null;
  created_at: string;
  updated_at: string | null;
  /** Ours: until when the secret before the last rotation works; null when only the current one does. */
  previous_key_expires_at: string | null;
  /** Addition to the API: when a call, batch or video last used the key, up to two minutes late; null if none has. */
  last_used_at: string | null;
}

/** `moving`: spending and last use change with every call, and an overlap ends by itself. */
export const READ_ONLY_OF_KEYS: ReadOnlyMembers<KeyDto> = {
  created: ['workspace_id', 'creator_user_id', 'expires_at'],
  fixed: ['hash', 'label', 'external_user', 'created_at'],
  moving: [
    'limit_remaining',
    'usage',
    'usage_daily',
    'usage_weekly',
    'usage_monthly',
    'byok_usage',
    'byok_usage_daily',
    'byok_usage_weekly',
    'byok_usage_monthly',
    'updated_at',
    'previous_key_expires_at',
    'last_used_at',
  ],
};

/** The API's `CurrentKey`, which `GET /key` returns in `data`. */
export interface CurrentKeyDto extends KeyLimitsDto {
  is_free_tier: boolean;
  is_management_key: boolean;
  /** The older name of `is_management_key`. */
  is_provisioning_key: boolean;
  organization_id: string;
  workspace_id: string | null;
  /** Regions that the policies of the workspace and the key both allow. */
  allowed_data_regions: readonly DataRegion[];
  /** An installation has no free requests, so all values are 0. */
  free_model_daily_requests: { limit: number; used: number; remaining: number };
  rate_limit: { requests: number; interval: string; note: string };
}
