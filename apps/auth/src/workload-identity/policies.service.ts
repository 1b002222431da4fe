import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import {
  CreatePolicyRequest,
  givenFields,
  PolicyRecord,
  PolicySettings,
  recordOf,
  type ListPoliciesRequest,
  type ListPoliciesResponse,
  type PolicyDeleted,
  type PolicyReference,
  type UpdatePolicyRequest,
} from '@libs/contracts';
import { AppError } from '@libs/errors';
import { KeysRepository } from '../keys/keys.repository';
import { compileCondition } from './conditions/condition';
import type { FederationPolicyEntity } from './federation-policy.entity';
import { PoliciesRepository } from './policies.repository';

/** Policies: which tokens may act as which key. A policy that could not be evaluated is refused when it is saved. */
@Injectable()
export class PoliciesService {
  constructor(
    private readonly repository: PoliciesRepository,
    private readonly keys: KeysRepository,
  ) {}

  async create(request: CreatePolicyRequest): Promise<PolicyRecord> {
    await this.judge(request.organizationId, request);
    const { organizationId } = request;
    const policy = { ...givenFields(CreatePolicyRequest, request), id: randomUUID(), organizationId };
    return toRecord(await this.repository.insertPolicy(policy));
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
    return toRecord(await this.repository.updatePolicy(request, givenFields(PolicySettings, request)));
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
  return recordOf(PolicyRecord, policy);
}
