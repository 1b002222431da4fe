import { IsBoolean, IsOptional, IsUUID, Matches, MinLength } from 'class-validator';
import { API_KEY_HASH } from '../keys/keys.messages';
import { call } from '../messages/contract';
import { queues } from '../messages/queues';
import { IsNameText, IsStoredText, MayBeAbsent } from '../organizations/member-rules';
import { Page } from '../organizations/page';
import { BothOf, Complete, Needing } from '../validation/derived-classes';
import { ArePolicyChecks, MAX_CLAIM_LENGTH, type PolicyCheck } from './policy-checks';

/** Longest condition in characters. */
const MAX_CONDITION_LENGTH = 2_000;

/**
 * The settings of a policy: the only declaration of these fields. `subject`, `condition` or both are required. In a
 * change, null clears a field.
 */
export class PolicySettings {
  @MayBeAbsent()
  @IsUUID()
  issuerId?: string;

  @MayBeAbsent()
  @IsNameText(1, 200)
  name?: string;

  /** Exactly the `sub` of the tokens. */
  @IsOptional()
  @IsStoredText(MAX_CLAIM_LENGTH)
  @MinLength(1)
  subject?: string | null;

  /** Exactly one of the values of `aud`. */
  @MayBeAbsent()
  @IsStoredText(MAX_CLAIM_LENGTH)
  @MinLength(1)
  audience?: string;

  /** An expression over `claims`: see docs/workload-identity.md. */
  @IsOptional()
  @IsStoredText(MAX_CONDITION_LENGTH)
  @MinLength(1)
  condition?: string | null;

  /** An API key of the organization, which the tokens act as. */
  @MayBeAbsent()
  @Matches(API_KEY_HASH)
  apiKeyHash?: string;

  @MayBeAbsent()
  @IsBoolean()
  enabled?: boolean;

  /** Each token is exchanged once, by its `jti`. */
  @MayBeAbsent()
  @IsBoolean()
  singleUse?: boolean;

  @MayBeAbsent()
  @ArePolicyChecks()
  checks?: PolicyCheck[];
}

export class NewPolicySettings extends Needing(PolicySettings, 'issuerId', 'name', 'audience', 'apiKeyHash') {}

/** A policy: which tokens of an issuer may act as which key of the organization. */
export class PolicyRecord extends Complete(NewPolicySettings) {
  id: string;
  organizationId: string;
  createdAt: string;
  updatedAt: string | null;
}

/** One policy of one organization. A policy of another organization is treated as one that does not exist. */
export class PolicyReference {
  @IsUUID()
  organizationId: string;

  @IsUUID()
  id: string;
}

export class CreatePolicyRequest extends Needing(NewPolicySettings, 'enabled', 'singleUse', 'checks') {
  @IsUUID()
  organizationId: string;
}

/**
 * Errors: `invalid_request` with the name of the field, for an issuer or key of another organization, a management key,
 * an invalid condition, and if neither subject nor condition is given.
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

/** Fields left out stay as they are. */
export class UpdatePolicyRequest extends BothOf(PolicyReference, PolicySettings) {}

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
