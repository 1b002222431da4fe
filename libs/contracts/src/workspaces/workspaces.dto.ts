import { IsOptional, Matches, MaxLength } from 'class-validator';
import { IsNameText, IsStoredText, MayBeAbsent } from '../organizations/member-rules';
import { IsRoutingPolicy, type RoutingPolicy } from '../routing/routing-policy';
import { WorkspaceSettingsDto } from './workspace-settings';
import { MAX_CALLBACK_URL_LENGTH, WORKSPACE_SLUG, WORKSPACE_SLUG_LENGTH } from './workspaces.messages';
import type { ReadOnlyMembers } from '../organizations/read-only-members';

/** Body of `POST /workspaces`. */
export class CreateWorkspaceDto extends WorkspaceSettingsDto {
  @IsNameText(1, 100)
  name: string;

  @Matches(WORKSPACE_SLUG)
  @MaxLength(WORKSPACE_SLUG_LENGTH)
  slug: string;

  @IsOptional()
  @IsStoredText(500)
  description?: string | null;

  /** https; null for none. */
  @IsOptional()
  @IsStoredText(MAX_CALLBACK_URL_LENGTH)
  default_callback_url?: string | null;

  /** Ours; in a change it takes the place of the whole policy that there was. */
  @IsOptional()
  @IsRoutingPolicy()
  policy?: RoutingPolicy | null;
}

/** Body of `PATCH /workspaces/{id}`: members left out stay as they are; null takes a setting away. */
export class UpdateWorkspaceDto extends WorkspaceSettingsDto {
  @MayBeAbsent()
  @IsNameText(1, 100)
  name?: string;

  @MayBeAbsent()
  @Matches(WORKSPACE_SLUG)
  @MaxLength(WORKSPACE_SLUG_LENGTH)
  slug?: string;

  @IsOptional()
  @IsStoredText(500)
  description?: string | null;

  /** https; null for none. */
  @IsOptional()
  @IsStoredText(MAX_CALLBACK_URL_LENGTH)
  default_callback_url?: string | null;

  /** Ours; in a change it takes the place of the whole policy that there was. */
  @IsOptional()
  @IsRoutingPolicy()
  policy?: RoutingPolicy | null;
}

/**
 * `Workspace` of the interface. Members for things that an installation does not have (guardrails) are present with
 * the value that says so.
 */
export interface WorkspaceDto {
  id: string;
  name: string;
  slug: string;
  description: string | null;
  /** Ours: whether keys that name no workspace go here. */
  is_default: boolean;
  /** Where the ends of batches and videos are announced whose requests name no place. */
  default_callback_url: string | null;
  /** Whether its webhooks are signed: `POST /workspaces/{id}/webhook-secret` begins that. */
  webhook_signing: boolean;
  policy: RoutingPolicy | null;
  created_at: string;
  updated_at: string | null;
  created_by: string | null;
  default_guardrail_id: string;
  default_image_model: string | null;
  default_text_model: string | null;
  default_provider_sort: string | null;
  include_byok_in_budgets: boolean;
  io_logging_api_key_ids: readonly number[] | null;
  io_logging_sampling_rate: number;
  is_data_discount_logging_enabled: boolean;
  is_observability_broadcast_enabled: boolean;
  is_observability_io_logging_enabled: boolean;
}

/** Budgets have a route of their own, and so have secrets of webhooks. */
export const READ_ONLY_OF_WORKSPACES: ReadOnlyMembers<WorkspaceDto> = {
  fixed: [
    'id',
    'is_default',
    'webhook_signing',
    'created_at',
    'created_by',
    'default_guardrail_id',
    'include_byok_in_budgets',
  ],
  moving: ['updated_at'],
};
