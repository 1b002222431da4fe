import { NewWorkspaceProperties, toHttp, type WorkspaceDto, type WorkspaceRecord } from '@libs/contracts';

/** The API requires a UUID here; an installation has no guardrails. */
const NO_GUARDRAIL = '00000000-0000-0000-0000-000000000000';

export interface WorkspaceSurroundings {
  readonly isSigning: boolean;
  /** Default for workspaces that have not set it. */
  readonly keepsContents: boolean;
}

/** Returns a workspace in the form of the API; settings that were never made show their defaults. */
export function workspaceView(
  workspace: WorkspaceRecord,
  { isSigning, keepsContents }: WorkspaceSurroundings,
): WorkspaceDto {
  const { settings } = workspace;
  return {
    id: workspace.id,
    ...toHttp(NewWorkspaceProperties, workspace),
    is_default: workspace.isDefault,
    webhook_signing: isSigning,
    created_at: workspace.createdAt,
    updated_at: workspace.updatedAt,
    created_by: null,
    default_guardrail_id: NO_GUARDRAIL,
    default_image_model: settings.default_image_model ?? null,
    default_text_model: settings.default_text_model ?? null,
    default_provider_sort: settings.default_provider_sort ?? null,
    include_byok_in_budgets: workspace.includeByokInBudgets,
    io_logging_api_key_ids: settings.io_logging_api_key_ids ?? null,
    io_logging_sampling_rate: settings.io_logging_sampling_rate ?? 1,
    is_data_discount_logging_enabled: settings.is_data_discount_logging_enabled ?? false,
    is_observability_broadcast_enabled: settings.is_observability_broadcast_enabled ?? false,
    is_observability_io_logging_enabled: settings.is_observability_io_logging_enabled ?? keepsContents,
  };
}
