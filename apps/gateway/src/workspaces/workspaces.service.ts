import {
  CreateWorkspace,
  DeleteWorkspace,
  GetWorkspace,
  ListWorkspaces,
  readPage,
  UpdateWorkspace,
  type CreateWorkspaceDto,
  type PageQueryDto,
  type Principal,
  type UpdateWorkspaceDto,
  type WorkspaceDto,
  type WorkspaceRecord,
  type WorkspaceReference,
} from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { MessageBus } from '@libs/platform';
import type { PolicyNames } from '../policies/policy-names';

const DEFAULT_PAGE = 50;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** The interface wants a UUID here; an installation has no guardrails. */
const NO_GUARDRAIL = '00000000-0000-0000-0000-000000000000';

/** `/workspaces` of the interface, forwarded to the auth app for the organization of the caller's key. */
export class WorkspacesService {
  constructor(
    private readonly bus: MessageBus,
    private readonly policies: PolicyNames,
  ) {}

  async list(caller: Principal, query: PageQueryDto): Promise<{ data: WorkspaceDto[]; total_count: number }> {
    const { organizationId } = caller;
    const page = await this.bus.call(ListWorkspaces, { organizationId, ...readPage(query, DEFAULT_PAGE) });
    return { data: page.workspaces.map(workspaceView), total_count: page.totalCount };
  }

  async create(caller: Principal, body: CreateWorkspaceDto): Promise<WorkspaceDto> {
    const { organizationId } = caller;
    const { name, slug, description } = body;
    const policy = this.policies.check(body.policy);
    return workspaceView(await this.bus.call(CreateWorkspace, { organizationId, name, slug, description, policy }));
  }

  async get(caller: Principal, id: string): Promise<WorkspaceDto> {
    return workspaceView(await this.bus.call(GetWorkspace, ownWorkspace(caller, id)));
  }

  async update(caller: Principal, id: string, body: UpdateWorkspaceDto): Promise<WorkspaceDto> {
    const { name, slug, description } = body;
    const reference = ownWorkspace(caller, id);
    const policy = this.policies.check(body.policy);
    return workspaceView(await this.bus.call(UpdateWorkspace, { ...reference, name, slug, description, policy }));
  }

  async delete(caller: Principal, id: string): Promise<void> {
    await this.bus.call(DeleteWorkspace, ownWorkspace(caller, id));
  }
}

/** What is no UUID names no workspace: the answer is the one for an unknown id. */
function ownWorkspace(caller: Principal, id: string): WorkspaceReference {
  if (!UUID.test(id)) throw new AppError('not_found', 'No such workspace');
  return { organizationId: caller.organizationId, id };
}

function workspaceView(workspace: WorkspaceRecord): WorkspaceDto {
  return {
    id: workspace.id,
    name: workspace.name,
    slug: workspace.slug,
    description: workspace.description,
    is_default: workspace.isDefault,
    policy: workspace.policy ?? null,
    created_at: workspace.createdAt,
    updated_at: workspace.updatedAt,
    created_by: null,
    default_guardrail_id: NO_GUARDRAIL,
    default_image_model: null,
    default_text_model: null,
    default_provider_sort: null,
    include_byok_in_budgets: false,
    io_logging_api_key_ids: null,
    io_logging_sampling_rate: 0,
    is_data_discount_logging_enabled: false,
    is_observability_broadcast_enabled: false,
    is_observability_io_logging_enabled: false,
  };
}
