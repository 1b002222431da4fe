import type { ReadOnlyMembers } from '../organizations/read-only-members';
import { BothOf, HttpFields } from '../validation/derived-classes';
import { WorkspaceSettingsDto } from './workspace-settings';
import { NewWorkspaceProperties, WorkspaceProperties } from './workspaces.messages';

export class WorkspacePropertiesDto extends HttpFields(WorkspaceProperties) {}

/** Body of `POST /workspaces`. */
export class CreateWorkspaceDto extends BothOf(WorkspaceSettingsDto, HttpFields(NewWorkspaceProperties)) {}

/** Body of `PATCH /workspaces/{id}`: absent fields stay unchanged; null clears a setting. */
export class UpdateWorkspaceDto extends BothOf(WorkspaceSettingsDto, WorkspacePropertiesDto) {}

/**
 * The API's `Workspace`. Fields for features that an installation does not have (guardrails) are present with the value
 * that says so.
 */
export interface WorkspaceDto extends Required<WorkspacePropertiesDto> {
  id: string;
  /** Ours: whether keys that name no workspace go here. */
  is_default: boolean;
  /** Whether its webhooks are signed: `POST /workspaces/{id}/webhook-secret` begins that. */
  webhook_signing: boolean;
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

/** Budgets and webhook secrets have routes of their own. */
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
