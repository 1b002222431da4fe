import type { ReadOnlyMembers } from '../organizations/read-only-members';
import { HttpFields } from '../validation/derived-classes';
import { NewPolicySettings, PolicySettings } from './policies.messages';

/** Body of `POST /workload-identity/policies`. */
export class CreatePolicyDto extends HttpFields(NewPolicySettings) {}

/** Body of `PATCH /workload-identity/policies/{id}`: absent fields stay unchanged. */
export class UpdatePolicyDto extends HttpFields(PolicySettings) {}

/** A policy: which tokens of an issuer may act as which key. */
export interface PolicyDto extends Required<CreatePolicyDto> {
  /** The `federation_policy_id` of an exchange. */
  id: string;
  created_at: string;
  updated_at: string | null;
}

export const READ_ONLY_OF_POLICIES: ReadOnlyMembers<PolicyDto> = {
  fixed: ['id', 'created_at'],
  moving: ['updated_at'],
};
