import { Injectable } from '@nestjs/common';
import { GetWorkspace, ListKeys, ListWorkspaces } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { MessageBus } from '@libs/platform';

/** Asks the auth app what belongs to an organization. */
@Injectable()
export class TenancyService {
  constructor(private readonly bus: MessageBus) {}

  /**
   * Returns the named workspace, or the default one.
   * @throws AppError invalid_request for a workspace of another organization or an unknown one, and if none is named
   * and there is no default workspace
   */
  async workspaceOf(organizationId: string, named: string | null): Promise<string> {
    return named === null ? this.defaultWorkspaceOf(organizationId) : this.ownWorkspace(organizationId, named);
  }

  /** @throws AppError invalid_request if one of the hashes does not belong to an API key of the organization */
  async requireOwnKeys(organizationId: string, hashes: readonly string[]): Promise<void> {
    const { totalCount } = await this.bus.call(ListKeys, {
      organizationId,
      hashes: [...hashes],
      kind: 'api',
      includeDisabled: true,
      offset: 0,
      limit: 1,
    });
    if (totalCount === hashes.length) return;
    throw new AppError('invalid_request', 'allowed_api_key_hashes names keys that the account does not have', {
      metadata: { param: 'allowed_api_key_hashes' },
    });
  }

  private async ownWorkspace(organizationId: string, id: string): Promise<string> {
    try {
      return (await this.bus.call(GetWorkspace, { organizationId, id })).id;
    } catch (thrown) {
      const error = AppError.from(thrown);
      throw error.code === 'not_found' ? refused('workspace_id names no workspace of the organization') : error;
    }
  }

  private async defaultWorkspaceOf(organizationId: string): Promise<string> {
    // The default workspace is the oldest.
    const { workspaces } = await this.bus.call(ListWorkspaces, { organizationId, offset: 0, limit: 1 });
    const [first] = workspaces;
    if (first?.isDefault) return first.id;
    throw refused('The default workspace was deleted: workspace_id is required');
  }
}

function refused(message: string): AppError {
  return new AppError('invalid_request', message, { metadata: { param: 'workspace_id' } });
}
