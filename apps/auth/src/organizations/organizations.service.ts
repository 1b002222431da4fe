import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type {
  CreateOrganizationRequest,
  ListOrganizationsRequest,
  ListOrganizationsResponse,
  OrganizationRecord,
} from '@libs/contracts';
import type { OrganizationEntity } from '../accounts/organization.entity';
import { OrganizationsRepository } from './organizations.repository';

@Injectable()
export class OrganizationsService {
  constructor(private readonly repository: OrganizationsRepository) {}

  async create(request: CreateOrganizationRequest): Promise<OrganizationRecord> {
    const workspace = { id: randomUUID(), name: 'Default', slug: 'default' };
    const organization = await this.repository.insertOrganization({ id: randomUUID(), name: request.name }, workspace);
    return toRecord(organization, workspace.id);
  }

  async list(request: ListOrganizationsRequest): Promise<ListOrganizationsResponse> {
    const page = await this.repository.findOrganizations(request.offset, request.limit);
    const defaults = new Map(page.defaultWorkspaces.map(({ organizationId, id }) => [organizationId, id]));
    return {
      organizations: page.organizations.map((organization) =>
        toRecord(organization, defaults.get(organization.id) ?? null),
      ),
      totalCount: page.totalCount,
    };
  }
}

function toRecord(organization: OrganizationEntity, defaultWorkspaceId: string | null): OrganizationRecord {
  return {
    id: organization.id,
    name: organization.name,
    defaultWorkspaceId,
    createdAt: organization.createdAt.toISOString(),
  };
}
