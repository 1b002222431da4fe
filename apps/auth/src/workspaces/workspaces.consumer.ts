import { Controller } from '@nestjs/common';
import {
  CreateWorkspace,
  CreateWorkspaceRequest,
  DeleteWorkspace,
  GetWorkspace,
  ListWorkspaces,
  ListWorkspacesRequest,
  UpdateWorkspace,
  UpdateWorkspaceRequest,
  WorkspaceReference,
  type ListWorkspacesResponse,
  type WorkspaceDeleted,
  type WorkspaceRecord,
} from '@libs/contracts';
import { Handles } from '@libs/platform';
import { WorkspacesService } from './workspaces.service';

@Controller()
export class WorkspacesConsumer {
  constructor(private readonly workspaces: WorkspacesService) {}

  @Handles(CreateWorkspace)
  create(request: CreateWorkspaceRequest): Promise<WorkspaceRecord> {
    return this.workspaces.create(request);
  }

  @Handles(ListWorkspaces)
  list(request: ListWorkspacesRequest): Promise<ListWorkspacesResponse> {
    return this.workspaces.list(request);
  }

  @Handles(GetWorkspace)
  get(reference: WorkspaceReference): Promise<WorkspaceRecord> {
    return this.workspaces.get(reference);
  }

  @Handles(UpdateWorkspace)
  update(request: UpdateWorkspaceRequest): Promise<WorkspaceRecord> {
    return this.workspaces.update(request);
  }

  @Handles(DeleteWorkspace)
  delete(reference: WorkspaceReference): Promise<WorkspaceDeleted> {
    return this.workspaces.delete(reference);
  }
}
