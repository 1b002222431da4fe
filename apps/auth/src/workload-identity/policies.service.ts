import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type {
  CreatePolicyRequest,
  ListPoliciesRequest,
  ListPoliciesResponse,
  PolicyDeleted,
  PolicyRecord,
  PolicyReference,
  UpdatePolicyRequest,
} from '@libs/contracts';
import { AppError } from '@libs/errors';
import { KeysRepository } from '../keys/keys.repository';
import { compileCondition } from './condition';
import type { FederationPolicyEntity } from './federation-policy.entity';
import { PoliciesRepository, type PolicyChanges } from './policies.repository';

const CHANGEABLE = [
  'issuerId',
  'name',
  'subject',
  'audience',
  'condition',
  'apiKeyHash',
  'enabled',
  'singleUse',
  'checks',
] as const;

/** Which tokens may act as which key. A policy that could not be evaluated is refused when it is saved. */
@Injectable()
export class PoliciesService {
  constructor(
    private readonly repository: PoliciesRepository,
    private readonly keys: KeysRepository,
  ) {}

  async create(request: CreatePolicyRequest): Promise<PolicyRecord> {
    await this.judge(request.organizationId, request);
    const policy = await this.repository.insertPolicy({
      id: randomUUID(),
      organizationId: request.organizationId,
      issuerId: request.issuerId,
      name: request.name,
      subject: request.subject,
      audience: request.audience,
      condition: request.condition,
      apiKeyHash: request.apiKeyHash,
      enabled: request.enabled,
      singleUse: request.singleUse,
      checks: request.checks.map(({ kind, value }) => ({ kind, value })),
    });
    return toRecord(policy);
  }

  async list(request: ListPoliciesRequest): Promise<ListPoliciesResponse> {
    const { policies, totalCount } = await this.repository.findPolicies(request);
    return { policies: policies.map(toRecord), totalCount };
  }

  async get(reference: PolicyReference): Promise<PolicyRecord> {
    return toRecord(await this.repository.getPolicy(reference));
  }

  async update(request: UpdatePolicyRequest): Promise<PolicyRecord> {
    await this.judge(request.organizationId, request);
    const given = CHANGEABLE.filter((member) => request[member] !== undefined);
    const changes = Object.fromEntries(given.map((member) => [member, request[member]])) as PolicyChanges;
    return toRecord(await this.repository.updatePolicy(request, changes));
  }

  async delete(reference: PolicyReference): Promise<PolicyDeleted> {
    await this.repository.deletePolicy(reference);
    return { deleted: true };
  }

  private async judge(
    organizationId: string,
    { condition, apiKeyHash }: { condition?: string | null; apiKeyHash?: string },
  ): Promise<void> {
    if (typeof condition === 'string') compileCondition(condition);
    if (apiKeyHash === undefined || (await this.keys.isApiKeyOf(organizationId, apiKeyHash))) return;
    throw new AppError('invalid_request', 'api_key_hash names no API key of the organization', {
      metadata: { param: 'api_key_hash' },
    });
  }
}

function toRecord(policy: FederationPolicyEntity): PolicyRecord {
  return {
    id: policy.id,
    organizationId: policy.organizationId,
    issuerId: policy.issuerId,
    name: policy.name,
    subject: policy.subject,
    audience: policy.audience,
    condition: policy.condition,
    apiKeyHash: policy.apiKeyHash,
    enabled: policy.enabled,
    singleUse: policy.singleUse,
    checks: policy.checks,
    createdAt: policy.createdAt.toISOString(),
    updatedAt: policy.updatedAt?.toISOString() ?? null,
  };
}
