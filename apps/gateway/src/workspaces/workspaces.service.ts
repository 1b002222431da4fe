import {
  CreateWorkspace,
  DeleteWorkspace,
  FindSigningWorkspaces,
  GetWorkspace,
  ListWorkspaces,
  readPage,
  RotateWebhookSecret,
  UpdateWorkspace,
  webhookSecretPurpose,
  type CreateWorkspaceDto,
  type PageQueryDto,
  type Principal,
  type Secret,
  type UpdateWorkspaceDto,
  type WorkspaceDto,
  type WorkspaceRecord,
  type WorkspaceReference,
} from '@libs/contracts';
import { AppError } from '@libs/errors';
import { SealingKeyPair, type MessageBus } from '@libs/platform';
import type { PolicyNames } from '../policies/policy-names';
import type { CallbackUrls } from '../webhooks/callback-urls';

const DEFAULT_PAGE = 50;
const NONE: ReadonlySet<string> = new Set();
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** The interface wants a UUID here; an installation has no guardrails. */
const NO_GUARDRAIL = '00000000-0000-0000-0000-000000000000';

/** `/workspaces` of the interface, forwarded to the auth app for the organization of the caller's key. */
export class WorkspacesService {
  constructor(
    private readonly bus: MessageBus,
    private readonly callbackUrls: CallbackUrls,
    private readonly policies: PolicyNames,
  ) {}

  async list(caller: Principal, query: PageQueryDto): Promise<{ data: WorkspaceDto[]; total_count: number }> {
    const { organizationId } = caller;
    const page = await this.bus.call(ListWorkspaces, { organizationId, ...readPage(query, DEFAULT_PAGE) });
    const signing = await this.#signing(organizationId, page.workspaces);
    return {
      data: page.workspaces.map((workspace) => workspaceView(workspace, signing)),
      total_count: page.totalCount,
    };
  }

  async create({ organizationId }: Principal, body: CreateWorkspaceDto): Promise<WorkspaceDto> {
    const { name, slug, description } = body;
    const defaultCallbackUrl = this.#checked(body.default_callback_url);
    const policy = this.policies.check(body.policy);
    const members = { organizationId, name, slug, description, defaultCallbackUrl, policy };
    return workspaceView(await this.bus.call(CreateWorkspace, members), NONE);
  }

  async get(caller: Principal, id: string): Promise<WorkspaceDto> {
    return this.#view(await this.bus.call(GetWorkspace, ownWorkspace(caller, id)));
  }

  async update(caller: Principal, id: string, body: UpdateWorkspaceDto): Promise<WorkspaceDto> {
    const { name, slug, description } = body;
    const reference = ownWorkspace(caller, id);
    const defaultCallbackUrl = this.#checked(body.default_callback_url);
    const policy = this.policies.check(body.policy);
    const members = { ...reference, name, slug, description, defaultCallbackUrl, policy };
    return this.#view(await this.bus.call(UpdateWorkspace, members));
  }

  /** A new secret for the workspace's webhooks. It comes sealed to a key pair that is forgotten with this call. */
  async rotateWebhookSecret(caller: Principal, id: string): Promise<Secret> {
    const { organizationId, id: workspaceId } = ownWorkspace(caller, id);
    const pair = SealingKeyPair.generate();
    const question = { organizationId, workspaceId, recipient: pair.publicKey };
    const { sealedSecret } = await this.bus.call(RotateWebhookSecret, question);
    return pair.open(sealedSecret, webhookSecretPurpose(workspaceId));
  }

  async delete(caller: Principal, id: string): Promise<void> {
    await this.bus.call(DeleteWorkspace, ownWorkspace(caller, id));
  }

  #checked(url: string | null | undefined): string | null | undefined {
    if (typeof url === 'string') this.callbackUrls.check(url, 'default_callback_url');
    return url;
  }

  async #view(workspace: WorkspaceRecord): Promise<WorkspaceDto> {
    return workspaceView(workspace, await this.#signing(workspace.organizationId, [workspace]));
  }

  /** Those of the workspaces whose webhooks are signed, which the credentials app knows. */
  async #signing(organizationId: string, workspaces: readonly WorkspaceRecord[]): Promise<ReadonlySet<string>> {
    if (workspaces.length === 0) return NONE;
    const asked = { organizationId, workspaceIds: workspaces.map(({ id }) => id) };
    return new Set((await this.bus.call(FindSigningWorkspaces, asked)).workspaceIds);
  }
}

/** What is no UUID names no workspace: the answer is the one for an unknown id. */
function ownWorkspace(caller: Principal, id: string): WorkspaceReference {
  if (!UUID.test(id)) throw new AppError('not_found', 'No such workspace');
  return { organizationId: caller.organizationId, id };
}

function workspaceView(workspace: WorkspaceRecord, signing: ReadonlySet<string>): WorkspaceDto {
  return {
    id: workspace.id,
    name: workspace.name,
    slug: workspace.slug,
    description: workspace.description,
    is_default: workspace.isDefault,
    default_callback_url: workspace.defaultCallbackUrl,
    webhook_signing: signing.has(workspace.id),
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
