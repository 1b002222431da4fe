import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import {
  givenFields,
  NewWorkspaceProperties,
  recordOf,
  WorkspaceProperties,
  WorkspaceRecord,
  type CreateWorkspaceRequest,
  type ListWorkspacesRequest,
  type ListWorkspacesResponse,
  type UpdateWorkspaceRequest,
  type WorkspaceDeleted,
  type WorkspaceReference,
  type WorkspaceSettings,
  type WorkspaceSettingsChanges,
} from '@libs/contracts';
import type { WorkspaceEntity } from '../accounts/workspace.entity';
import { WorkspacesRepository } from './workspaces.repository';

@Injectable()
export class WorkspacesService {
  constructor(private readonly repository: WorkspacesRepository) {}

  async create(request: CreateWorkspaceRequest): Promise<WorkspaceRecord> {
    const { organizationId } = request;
    const settings = withoutNulls(request.settings ?? {});
    const workspace = { ...givenFields(NewWorkspaceProperties, request), id: randomUUID(), organizationId, settings };
    return toRecord(await this.repository.insertWorkspace(workspace));
  }

  async list(request: ListWorkspacesRequest): Promise<ListWorkspacesResponse> {
    const { workspaces, totalCount } = await this.repository.findWorkspaces(request);
    return { workspaces: workspaces.map(toRecord), totalCount };
  }

  async get(reference: WorkspaceReference): Promise<WorkspaceRecord> {
    return toRecord(await this.repository.getWorkspace(reference));
  }

  async update(request: UpdateWorkspaceRequest): Promise<WorkspaceRecord> {
    const changes = givenFields(WorkspaceProperties, request);
    return toRecord(await this.repository.updateWorkspace(request, changes, request.settings));
  }

  async delete(reference: WorkspaceReference): Promise<WorkspaceDeleted> {
    await this.repository.deleteWorkspace(reference);
    return { deleted: true };
  }
}

/** Drops nulls: clearing a setting that was never made is the same as leaving it out. */
function withoutNulls(changes: WorkspaceSettingsChanges): WorkspaceSettings {
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== null));
}

function toRecord(workspace: WorkspaceEntity): WorkspaceRecord {
  return recordOf(WorkspaceRecord, workspace);
}
