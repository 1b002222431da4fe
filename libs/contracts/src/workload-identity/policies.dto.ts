import { IsBoolean, IsOptional, IsUUID, Matches, MinLength } from 'class-validator';
import { API_KEY_HASH } from '../keys/keys.messages';
import { IsNameText, IsStoredText, MayBeAbsent } from '../organizations/member-rules';
import { ArePolicyChecks, MAX_CLAIM_LENGTH, type PolicyCheck } from './policy-checks';
import type { ReadOnlyMembers } from '../organizations/read-only-members';

/** Of a condition, in characters. */
const MAX_CONDITION_LENGTH = 2_000;

/** Body of `POST /workload-identity/policies`. One of `subject` and `condition` is needed; both may be given. */
export class CreatePolicyDto {
  @IsUUID()
  issuer_id: string;

  @IsNameText(1, 200)
  name: string;

  /** Exactly the `sub` of the tokens. */
  @IsOptional()
  @IsStoredText(MAX_CLAIM_LENGTH)
  @MinLength(1)
  subject?: string | null;

  /** Exactly one of the values of `aud`. */
  @IsStoredText(MAX_CLAIM_LENGTH)
  @MinLength(1)
  audience: string;

  /** An expression of the Common Expression Language over `claims`. */
  @IsOptional()
  @IsStoredText(MAX_CONDITION_LENGTH)
  @MinLength(1)
  condition?: string | null;

  /** An API key of the organization, which the tokens act as. */
  @Matches(API_KEY_HASH)
  api_key_hash: string;

  @MayBeAbsent()
  @IsBoolean()
  enabled?: boolean;

  /** Each token is exchanged once, by its `jti`. */
  @MayBeAbsent()
  @IsBoolean()
  single_use?: boolean;

  @MayBeAbsent()
  @ArePolicyChecks()
  checks?: PolicyCheck[];
}

/** Body of `PATCH /workload-identity/policies/{id}`: members left out stay as they are. */
export class UpdatePolicyDto {
  @MayBeAbsent()
  @IsUUID()
  issuer_id?: string;

  @MayBeAbsent()
  @IsNameText(1, 200)
  name?: string;

  @IsOptional()
  @IsStoredText(MAX_CLAIM_LENGTH)
  @MinLength(1)
  subject?: string | null;

  @MayBeAbsent()
  @IsStoredText(MAX_CLAIM_LENGTH)
  @MinLength(1)
  audience?: string;

  @IsOptional()
  @IsStoredText(MAX_CONDITION_LENGTH)
  @MinLength(1)
  condition?: string | null;

  @MayBeAbsent()
  @Matches(API_KEY_HASH)
  api_key_hash?: string;

  @MayBeAbsent()
  @IsBoolean()
  enabled?: boolean;

  @MayBeAbsent()
  @IsBoolean()
  single_use?: boolean;

  @MayBeAbsent()
  @ArePolicyChecks()
  checks?: PolicyCheck[];
}

/** Which tokens of an issuer may act as which key. */
export interface PolicyDto {
  /** The `federation_policy_id` of an exchange. */
  id: string;
  issuer_id: string;
  name: string;
  subject: string | null;
  audience: string;
  condition: string | null;
  api_key_hash: string;
  enabled: boolean;
  single_use: boolean;
  checks: PolicyCheck[];
  created_at: string;
  updated_at: string | null;
}

export const READ_ONLY_OF_POLICIES: ReadOnlyMembers<PolicyDto> = {
  fixed: ['id', 'created_at'],
  moving: ['updated_at'],
};
