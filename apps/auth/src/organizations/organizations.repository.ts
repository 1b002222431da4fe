import { Injectable } from '@nestjs/common';
import { Database, outcomeOfRow } from '@libs/persistence';
import { DataSource, In } from 'typeorm';
import { WorkspaceEntity } from '../accounts/workspace.entity';
import { OrganizationEntity } from '../accounts/organization.entity';

export type NewOrganization = Pick<OrganizationEntity, 'id' | 'name'>;
export type DefaultWorkspace = Pick<WorkspaceEntity, 'id' | 'name' | 'slug'>;

export interface OrganizationPage {
  readonly organizations: readonly OrganizationEntity[];
  readonly defaultWorkspaces: readonly WorkspaceEntity[];
  readonly totalCount: number;
}

@Injectable()
export class OrganizationsRepository {
  constructor(
    private readonly dataSource: DataSource,
    private readonly database: Database,
  ) {}

  /** Inserts both or neither: an organization without a default workspace would have no workspace for its keys. */
  async insertOrganization(organization: NewOrganization, workspace: DefaultWorkspace): Promise<OrganizationEntity> {
    return this.database.entities(
      async (manager) => {
        await manager.insert(OrganizationEntity, organization);
        await manager.insert(WorkspaceEntity, { ...workspace, organizationId: organization.id, isDefault: true });
        return manager.findOneByOrFail(OrganizationEntity, { id: organization.id });
      },
      outcomeOfRow('organizations', 'id', organization.id),
    );
  }

  async findOrganizations(offset: number, limit: number): Promise<OrganizationPage> {
    const { manager } = this.dataSource;
    const [organizations, totalCount] = await manager.findAndCount(OrganizationEntity, {
      order: { createdAt: 'ASC', id: 'ASC' },
      skip: offset,
      take: limit,
    });
    const organizationId = In(organizations.map(({ id }) => id));
    const defaultWorkspaces = await manager.findBy(WorkspaceEntity, { organizationId, isDefault: true });
    return { organizations, defaultWorkspaces, totalCount };
  }
}
