import { Controller } from '@nestjs/common';
import {
  CreateOrganization,
  CreateOrganizationRequest,
  ListOrganizations,
  ListOrganizationsRequest,
  type ListOrganizationsResponse,
  type OrganizationRecord,
} from '@libs/contracts';
import { Handles } from '@libs/platform';
import { OrganizationsService } from './organizations.service';

@Controller()
export class OrganizationsConsumer {
  constructor(private readonly organizations: OrganizationsService) {}

  @Handles(CreateOrganization)
  create(request: CreateOrganizationRequest): Promise<OrganizationRecord> {
    return this.organizations.create(request);
  }

  @Handles(ListOrganizations)
  list(request: ListOrganizationsRequest): Promise<ListOrganizationsResponse> {
    return this.organizations.list(request);
  }
}
