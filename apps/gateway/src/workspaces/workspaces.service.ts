import {
  CreateWorkspace,
  DeleteWorkspace,
  FindSigningWorkspaces,
  fromHttp,
  GetWorkspace,
  givenFields,
  givenSettings,
  ListWorkspaces,
  readPage,
  RotateWebhookSecret,
  UpdateWorkspace,
  webhookSecretPurpose,
  WorkspacePropertiesDto,
  type CreateWorkspaceDto,
  type PageQueryDto,
  type Principal,
  type Secret,
  type UpdateWorkspaceDto,
  type UpdateWorkspaceRequest,
  type WorkspaceDto,
  type WorkspaceRecord,
  type WorkspaceReference,
} from '@libs/contracts';
import { SealingKeyPair, type MessageBus } from '@libs/platform';
import type { PolicyNames } from '../policies/policy-names';
import type { CallbackUrls } from '../webhooks/callback-urls';
import { ownWorkspace } from './own-workspace';
import { workspaceView } from './workspace-view';

const DEFAULT_PAGE = 50;
const NONE: ReadonlySet<string> = new Set();

/** The `/workspaces` routes, forwarded to the auth app for the organization of the caller's key. */
export class WorkspacesService {
  constructor(
    private readonly bus: MessageBus,
    private readonly callbackUrls: CallbackUrls,
    private readonly policies: PolicyNames,
    /** True if the installation stores contents of calls; a workspace then stores them unless it turned that off. */
    private readonly keepsContents: boolean,
  ) {}

  async list(caller: Principal, query: PageQueryDto): Promise<{ data: WorkspaceDto[]; total_count: number }> {
    const { organizationId } = caller;
    const page = await this.bus.call(ListWorkspaces, { organizationId, ...readPage(query, DEFAULT_PAGE) });
    const signing = await this.#signing(organizationId, page.workspaces);
    return {
      data: page.workspaces.map((workspace) => this.#shown(workspace, signing)),
      total_count: page.totalCount,
    };
  }

  async create({ organizationId }: Principal, body: CreateWorkspaceDto): Promise<WorkspaceDto> {
    const { name, slug } = body;
    const created = await this.bus.call(CreateWorkspace, { ...this.#given(body), name, slug, organizationId });
    return this.#shown(created, NONE);
  }

  async get(caller: Principal, id: string): Promise<WorkspaceDto> {
    return this.#view(await this.bus.call(GetWorkspace, ownWorkspace(caller, id)));
  }

  async update(caller: Principal, id: string, body: UpdateWorkspaceDto): Promise<WorkspaceDto> {
    const changes = { ...this.#given(body), ...ownWorkspace(caller, id) };
    return this.#view(await this.bus.call(UpdateWorkspace, changes));
  }

  /**
   * Returns a new secret for the workspace's webhooks. It arrives encrypted to a key pair that exists only for this
   * call.
   */
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

  #given(body: UpdateWorkspaceDto): Omit<UpdateWorkspaceRequest, keyof WorkspaceReference> {
    const { default_callback_url: url, policy } = body;
    if (typeof url === 'string') this.callbackUrls.check(url, 'default_callback_url');
    this.policies.check(policy);
    return { ...fromHttp(givenFields(WorkspacePropertiesDto, body)), settings: givenSettings(body) };
  }

  async #view(workspace: WorkspaceRecord): Promise<WorkspaceDto> {
    return this.#shown(workspace, await this.#signing(workspace.organizationId, [workspace]));
  }

  #shown(workspace: WorkspaceRecord, signing: ReadonlySet<string>): WorkspaceDto {
    return workspaceView(workspace, { isSigning: signing.has(workspace.id), keepsContents: this.keepsContents });
  }

  /** Returns the workspaces whose webhooks are signed; the credentials app knows them. */
  async #signing(organizationId: string, workspaces: readonly WorkspaceRecord[]): Promise<ReadonlySet<string>> {
    if (workspaces.length === 0) return NONE;
    const asked = { organizationId, workspaceIds: workspaces.map(({ id }) => id) };
    return new Set((await this.bus.call(FindSigningWorkspaces, asked)).workspaceIds);
  }
}
