import { IsOptional, IsUUID, Matches, MaxLength } from 'class-validator';
import { call } from '../messages/contract';
import { queues } from '../messages/queues';
import { IsNameText, IsStoredText, MayBeAbsent } from '../organizations/member-rules';
import { Page } from '../organizations/page';
import { IsRoutingPolicy, type RoutingPolicy } from '../routing/routing-policy';
import { BothOf, Complete, Needing } from '../validation/derived-classes';
import { IsWorkspaceSettings, type WorkspaceSettings, type WorkspaceSettingsChanges } from './workspace-settings';

/** Lower-case words joined by single hyphens, at most 50 characters. */
export const WORKSPACE_SLUG = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
export const WORKSPACE_SLUG_LENGTH = 50;

/** A URL that receives events is stored and sent along. */
export const MAX_CALLBACK_URL_LENGTH = 2_048;

/**
 * The properties of a workspace besides its settings: the only declaration of these fields. In a change, null clears a
 * field.
 */
export class WorkspaceProperties {
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

  /** Default https webhook URL for the ends of batches and videos; null for none. */
  @IsOptional()
  @IsStoredText(MAX_CALLBACK_URL_LENGTH)
  defaultCallbackUrl?: string | null;

  /** A change replaces the whole policy. */
  @IsOptional()
  @IsRoutingPolicy()
  policy?: RoutingPolicy | null;
}

export class NewWorkspaceProperties extends Needing(WorkspaceProperties, 'name', 'slug') {}

export class WorkspaceRecord extends Complete(NewWorkspaceProperties) {
  id: string;
  organizationId: string;
  isDefault: boolean;
  settings: WorkspaceSettings;
  /** True if charges of own providers count towards its budgets. */
  includeByokInBudgets: boolean;
  createdAt: string;
  updatedAt: string | null;
}

export class CreateWorkspaceRequest extends NewWorkspaceProperties {
  @IsUUID()
  organizationId: string;

  @IsWorkspaceSettings()
  settings?: WorkspaceSettingsChanges | undefined;
}

/** Errors: `invalid_request` for a slug that the organization already uses, `not_found` for an unknown organization. */
export const CreateWorkspace = call({
  queue: queues.auth,
  name: 'auth.create-workspace',
  askedBy: ['gateway', 'cli'],
  repeat: 'refused',
  timeoutMs: 5_000,
  request: CreateWorkspaceRequest,
  response: WorkspaceRecord,
});

export class ListWorkspacesRequest extends Page {
  @IsUUID()
  organizationId: string;
}

export class ListWorkspacesResponse {
  /** Oldest first, so that the default workspace leads. */
  workspaces: WorkspaceRecord[];
  totalCount: number;
}

export const ListWorkspaces = call({
  queue: queues.auth,
  name: 'auth.list-workspaces',
  askedBy: ['gateway', 'credentials', 'cli'],
  repeat: 'harmless',
  timeoutMs: 5_000,
  request: ListWorkspacesRequest,
  response: ListWorkspacesResponse,
});

/** One workspace of one organization. A workspace of another organization is treated as one that does not exist. */
export class WorkspaceReference {
  @IsUUID()
  organizationId: string;

  @IsUUID()
  id: string;
}

/** Errors: `not_found`. */
export const GetWorkspace = call({
  queue: queues.auth,
  name: 'auth.get-workspace',
  askedBy: ['gateway', 'credentials', 'cli'],
  repeat: 'harmless',
  timeoutMs: 5_000,
  request: WorkspaceReference,
  response: WorkspaceRecord,
});

/** Fields left out stay as they are. */
export class UpdateWorkspaceRequest extends BothOf(WorkspaceReference, WorkspaceProperties) {
  @IsWorkspaceSettings()
  settings?: WorkspaceSettingsChanges | undefined;
}

/** Errors: `not_found`; `invalid_request` for a slug the organization uses already. */
export const UpdateWorkspace = call({
  queue: queues.auth,
  name: 'auth.update-workspace',
  askedBy: ['gateway'],
  repeat: 'refused',
  timeoutMs: 5_000,
  changes: 'access',
  request: UpdateWorkspaceRequest,
  response: WorkspaceRecord,
});

export class WorkspaceDeleted {
  deleted: true;
}

/** Errors: `not_found`; `invalid_request` for the default workspace and for one that still has keys. */
export const DeleteWorkspace = call({
  queue: queues.auth,
  name: 'auth.delete-workspace',
  askedBy: ['gateway'],
  repeat: 'harmless',
  whenGone: { deleted: true },
  timeoutMs: 5_000,
  changes: 'access',
  request: WorkspaceReference,
  response: WorkspaceDeleted,
});

export const workspaceContracts = [CreateWorkspace, ListWorkspaces, GetWorkspace, UpdateWorkspace, DeleteWorkspace];
