import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type {
  CreateWorkspaceRequest,
  ListWorkspacesRequest,
  ListWorkspacesResponse,
  UpdateWorkspaceRequest,
  WorkspaceDeleted,
  WorkspaceRecord,
  WorkspaceReference,
  WorkspaceSettings,
  WorkspaceSettingsChanges,
} from '@libs/contracts';
import type { WorkspaceEntity } from '../accounts/workspace.entity';
import { WorkspacesRepository, type WorkspaceChanges } from './workspaces.repository';

const CHANGEABLE = ['name', 'slug', 'description', 'defaultCallbackUrl', 'policy'] as const;

@Injectable()
export class WorkspacesService {
  constructor(private readonly repository: WorkspacesRepository) {}

  async create(request: CreateWorkspaceRequest): Promise<WorkspaceRecord> {
    const { organizationId, name, slug, description = null, defaultCallbackUrl = null, policy = null } = request;
    const members = { organizationId, name, slug, description, defaultCallbackUrl, policy };
    const settings = withoutNulls(request.settings ?? {});
    return toRecord(await this.repository.insertWorkspace({ id: randomUUID(), ...members, settings }));
  }

  async list(request: ListWorkspacesRequest): Promise<ListWorkspacesResponse> {
    const { workspaces, totalCount } = await this.repository.findWorkspaces(request);
    return { workspaces: workspaces.map(toRecord), totalCount };
  }

  async get(reference: WorkspaceReference): Promise<WorkspaceRecord> {
    return toRecord(await this.repository.getWorkspace(reference));
  }

  async update(request: UpdateWorkspaceRequest): Promise<WorkspaceRecord> {
    const given = CHANGEABLE.filter((member) => request[member] !== undefined);
    const changes = Object.fromEntries(given.map((member) => [member, request[member]])) as WorkspaceChanges;
    return toRecord(await this.repository.updateWorkspace(request, changes, request.settings));
  }

  async delete(reference: WorkspaceReference): Promise<WorkspaceDeleted> {
    await this.repository.deleteWorkspace(reference);
    return { deleted: true };
  }
}

/** Drops nulls: clearing a setting that was never set is the same as leaving it out. */
function withoutNulls(changes: WorkspaceSettingsChanges): WorkspaceSettings {
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== null));
}

function toRecord(workspace: WorkspaceEntity): WorkspaceRecord {
  return {
    id: workspace.id,
    organizationId: workspace.organizationId,
    name: workspace.name,
    slug: workspace.slug,
    isDefault: workspace.isDefault,
    description: workspace.description,
    defaultCallbackUrl: workspace.defaultCallbackUrl,
    policy: workspace.policy,
    settings: workspace.settings,
    includeByokInBudgets: workspace.includeByokInBudgets,
    createdAt: workspace.createdAt.toISOString(),
    updatedAt: workspace.updatedAt?.toISOString() ?? null,
  };
}
