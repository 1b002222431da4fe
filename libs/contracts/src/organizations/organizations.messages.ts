import { call } from '../messages/contract';
import { queues } from '../messages/queues';
import { IsNameText } from './member-rules';
import { Page } from './page';

/** A tenant: it holds credits, management keys and workspaces. */
export class OrganizationRecord {
  id: string;
  name: string;
  /** The workspace of keys that name none. */
  defaultWorkspaceId: string | null;
  createdAt: string;
}

export class CreateOrganizationRequest {
  @IsNameText(1, 100)
  name: string;
}

/** Creates the organization together with its default workspace. */
export const CreateOrganization = call({
  queue: queues.auth,
  name: 'auth.create-organization',
  askedBy: ['cli'],
  repeat: 'refused',
  timeoutMs: 5_000,
  request: CreateOrganizationRequest,
  response: OrganizationRecord,
});

export class ListOrganizationsRequest extends Page {}

export class ListOrganizationsResponse {
  /** Oldest first. */
  organizations: OrganizationRecord[];
  totalCount: number;
}

/** Lists all organizations, for the operator only: no HTTP route calls it. */
export const ListOrganizations = call({
  queue: queues.auth,
  name: 'auth.list-organizations',
  askedBy: ['cli'],
  repeat: 'harmless',
  timeoutMs: 5_000,
  request: ListOrganizationsRequest,
  response: ListOrganizationsResponse,
});

export const organizationContracts = [CreateOrganization, ListOrganizations];
