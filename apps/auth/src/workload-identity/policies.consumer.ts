import { Controller } from '@nestjs/common';
import {
  CreatePolicy,
  CreatePolicyRequest,
  DeletePolicy,
  GetPolicy,
  PolicyReference,
  ListPolicies,
  ListPoliciesRequest,
  UpdatePolicy,
  UpdatePolicyRequest,
  type PolicyDeleted,
  type PolicyRecord,
  type ListPoliciesResponse,
} from '@libs/contracts';
import { Handles } from '@libs/platform';
import { PoliciesService } from './policies.service';

@Controller()
export class PoliciesConsumer {
  constructor(private readonly policies: PoliciesService) {}

  @Handles(CreatePolicy)
  create(request: CreatePolicyRequest): Promise<PolicyRecord> {
    return this.policies.create(request);
  }

  @Handles(ListPolicies)
  list(request: ListPoliciesRequest): Promise<ListPoliciesResponse> {
    return this.policies.list(request);
  }

  @Handles(GetPolicy)
  get(reference: PolicyReference): Promise<PolicyRecord> {
    return this.policies.get(reference);
  }

  @Handles(UpdatePolicy)
  update(request: UpdatePolicyRequest): Promise<PolicyRecord> {
    return this.policies.update(request);
  }

  @Handles(DeletePolicy)
  delete(reference: PolicyReference): Promise<PolicyDeleted> {
    return this.policies.delete(reference);
  }
}
