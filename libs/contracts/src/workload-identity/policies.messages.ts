import { IsBoolean, IsOptional, IsUUID, Matches } from 'class-validator';
import { API_KEY_HASH } from '../keys/keys.messages';
import { call } from '../messages/contract';
import { queues } from '../messages/queues';
import { IsNameText, IsStoredText, MayBeAbsent } from '../organizations/member-rules';
import { Page } from '../organizations/page';
import { ArePolicyChecks, MAX_CLAIM_LENGTH, type PolicyCheck } from './policy-checks';

/** Which tokens of an issuer may act as which key of the organization. */
export class PolicyRecord {
  id: string;
  organizationId: string;
  issuerId: string;
  name: string;
  subject: string | null;
  audience: string;
  condition: string | null;
  apiKeyHash: string;
  enabled: boolean;
  singleUse: boolean;
  checks: PolicyCheck[];
  createdAt: string;
  updatedAt: string | null;
}

/** One policy of one organization. Another organization's is answered like one that never was. */
export class PolicyReference {
  @IsUUID()
  organizationId: string;

  @IsUUID()
  id: string;
}

export class CreatePolicyRequest {
  @IsUUID()
  organizationId: string;

  @IsUUID()
  issuerId: string;

  @IsNameText(1, 200)
  name: string;

  @IsOptional()
  @IsStoredText(MAX_CLAIM_LENGTH)
  subject: string | null;

  @IsStoredText(MAX_CLAIM_LENGTH)
  audience: string;

  @IsOptional()
  @IsStoredText(2_000)
  condition: string | null;

  @Matches(API_KEY_HASH)
  apiKeyHash: string;

  @IsBoolean()
  enabled: boolean;

  @IsBoolean()
  singleUse: boolean;

  @ArePolicyChecks()
  checks: PolicyCheck[];
}

/**
 * Errors: `invalid_request` that names the member, for an issuer or key that is not the organization's, a
 * management key, a condition that cannot be used, and for neither subject nor condition.
 */
export const CreatePolicy = call({
  queue: queues.auth,
  name: 'auth.create-policy',
  askedBy: ['gateway'],
  repeat: 'refused',
  timeoutMs: 5_000,
  request: CreatePolicyRequest,
  response: PolicyRecord,
});

export class ListPoliciesRequest extends Page {
  @IsUUID()
  organizationId: string;
}

export class ListPoliciesResponse {
  /** Oldest first. */
  policies: PolicyRecord[];
  totalCount: number;
}

export const ListPolicies = call({
  queue: queues.auth,
  name: 'auth.list-policies',
  askedBy: ['gateway'],
  repeat: 'harmless',
  timeoutMs: 5_000,
  request: ListPoliciesRequest,
  response: ListPoliciesResponse,
});

/** Errors: `not_found`. */
export const GetPolicy = call({
  queue: queues.auth,
  name: 'auth.get-policy',
  askedBy: ['gateway'],
  repeat: 'harmless',
  timeoutMs: 5_000,
  request: PolicyReference,
  response: PolicyRecord,
});

/** Members left out stay as they are; null takes subject or condition away. */
export class UpdatePolicyRequest extends PolicyReference {
  @MayBeAbsent()
  @IsUUID()
  issuerId?: string;

  @MayBeAbsent()
  @IsNameText(1, 200)
  name?: string;

  @IsOptional()
  @IsStoredText(MAX_CLAIM_LENGTH)
  subject?: string | null;

  @MayBeAbsent()
  @IsStoredText(MAX_CLAIM_LENGTH)
  audience?: string;

  @IsOptional()
  @IsStoredText(2_000)
  condition?: string | null;

  @MayBeAbsent()
  @Matches(API_KEY_HASH)
  apiKeyHash?: string;

  @MayBeAbsent()
  @IsBoolean()
  enabled?: boolean;

  @MayBeAbsent()
  @IsBoolean()
  singleUse?: boolean;

  @MayBeAbsent()
  @ArePolicyChecks()
  checks?: PolicyCheck[];
}

/** Errors: `not_found`, `invalid_request` as for `CreatePolicy`. */
export const UpdatePolicy = call({
  queue: queues.auth,
  name: 'auth.update-policy',
  askedBy: ['gateway'],
  repeat: 'refused',
  timeoutMs: 5_000,
  request: UpdatePolicyRequest,
  response: PolicyRecord,
});

export class PolicyDeleted {
  deleted: true;
}

/** Ends new exchanges; tokens that were given out go on until they expire. Errors: `not_found`. */
export const DeletePolicy = call({
  queue: queues.auth,
  name: 'auth.delete-policy',
  askedBy: ['gateway'],
  repeat: 'harmless',
  whenGone: { deleted: true },
  timeoutMs: 5_000,
  request: PolicyReference,
  response: PolicyDeleted,
});

export const policyContracts = [CreatePolicy, ListPolicies, GetPolicy, UpdatePolicy, DeletePolicy];
