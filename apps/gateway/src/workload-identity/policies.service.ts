import { Injectable } from '@nestjs/common';
import {
  CreatePolicy,
  DeletePolicy,
  GetPolicy,
  ListPolicies,
  readPage,
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
    const policy = await this.bus.call(CreatePolicy, {
      organizationId,
      issuerId: body.issuer_id,
      name: body.name,
      subject: body.subject ?? null,
      audience: body.audience,
      condition: body.condition ?? null,
      apiKeyHash: body.api_key_hash,
      enabled: body.enabled ?? true,
      singleUse: body.single_use ?? false,
      checks: body.checks ?? [],
    });
    return policyView(policy);
  }

  async get(caller: Principal, id: string): Promise<PolicyDto> {
    return policyView(await this.bus.call(GetPolicy, ownPolicy(caller, id)));
  }

  async update(caller: Principal, id: string, body: UpdatePolicyDto): Promise<PolicyDto> {
    const policy = await this.bus.call(UpdatePolicy, {
      ...ownPolicy(caller, id),
      issuerId: body.issuer_id,
      name: body.name,
      subject: body.subject,
      audience: body.audience,
      condition: body.condition,
      apiKeyHash: body.api_key_hash,
      enabled: body.enabled,
      singleUse: body.single_use,
      checks: body.checks,
    });
    return policyView(policy);
  }

  async delete(caller: Principal, id: string): Promise<void> {
    await this.bus.call(DeletePolicy, ownPolicy(caller, id));
  }
}

/** What is no UUID names no policy: the answer is the one for an unknown id. */
function ownPolicy({ organizationId }: Principal, id: string): PolicyReference {
  if (!UUID.test(id)) throw new AppError('not_found', 'No such policy');
  return { organizationId, id };
}

function policyView(policy: PolicyRecord): PolicyDto {
  return {
    id: policy.id,
    issuer_id: policy.issuerId,
    name: policy.name,
    subject: policy.subject,
    audience: policy.audience,
    condition: policy.condition,
    api_key_hash: policy.apiKeyHash,
    enabled: policy.enabled,
    single_use: policy.singleUse,
    checks: policy.checks,
    created_at: policy.createdAt,
    updated_at: policy.updatedAt,
  };
}
