import { Injectable } from '@nestjs/common';
import {
  CreatePolicy,
  DeletePolicy,
  fromHttp,
  GetPolicy,
  ListPolicies,
  NewPolicySettings,
  readPage,
  toHttp,
  UpdatePolicy,
  type CreatePolicyDto,
  type PageQueryDto,
  type PolicyDto,
  type PolicyRecord,
  type PolicyReference,
  type Principal,
  type UpdatePolicyDto,
} from '@libs/contracts';
import { AppError } from '@libs/errors';
import { MessageBus } from '@libs/platform';

const DEFAULT_PAGE = 50;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** `/workload-identity/policies`, forwarded to the auth app for the organization of the caller's key. */
@Injectable()
export class PoliciesService {
  constructor(private readonly bus: MessageBus) {}

  async list(caller: Principal, query: PageQueryDto): Promise<{ data: PolicyDto[]; total_count: number }> {
    const { organizationId } = caller;
    const page = await this.bus.call(ListPolicies, { organizationId, ...readPage(query, DEFAULT_PAGE) });
    return { data: page.policies.map(policyView), total_count: page.totalCount };
  }

  async create({ organizationId }: Principal, body: CreatePolicyDto): Promise<PolicyDto> {
    const unlessGiven = { enabled: true, singleUse: false, checks: [] };
    return policyView(await this.bus.call(CreatePolicy, { ...unlessGiven, ...fromHttp(body), organizationId }));
  }

  async get(caller: Principal, id: string): Promise<PolicyDto> {
    return policyView(await this.bus.call(GetPolicy, ownPolicy(caller, id)));
  }

  async update(caller: Principal, id: string, body: UpdatePolicyDto): Promise<PolicyDto> {
    return policyView(await this.bus.call(UpdatePolicy, { ...fromHttp(body), ...ownPolicy(caller, id) }));
  }

  async delete(caller: Principal, id: string): Promise<void> {
    await this.bus.call(DeletePolicy, ownPolicy(caller, id));
  }
}

/** Text that is not a UUID names no policy: it gets the answer for an unknown id. */
function ownPolicy({ organizationId }: Principal, id: string): PolicyReference {
  if (!UUID.test(id)) throw new AppError('not_found', 'No such policy');
  return { organizationId, id };
}

function policyView(policy: PolicyRecord): PolicyDto {
  const { id, createdAt, updatedAt } = policy;
  return { id, ...toHttp(NewPolicySettings, policy), created_at: createdAt, updated_at: updatedAt };
}
