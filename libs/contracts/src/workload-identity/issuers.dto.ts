import { IsOptional } from 'class-validator';
import { IsNameText, IsStoredText, MayBeAbsent } from '../organizations/member-rules';
import { IsIssuerUrl } from './issuer-url';
import type { ReadOnlyMembers } from '../organizations/read-only-members';

const MAX_URL_LENGTH = 2_048;

/** Body of `POST /workload-identity/issuers`. */
export class CreateIssuerDto {
  @IsNameText(1, 200)
  name: string;

  /** Exactly the `iss` of its tokens. */
  @IsIssuerUrl(MAX_URL_LENGTH)
  issuer_url: string;

  /** Null or left out: the `jwks_uri` of the issuer's OpenID configuration. */
  @IsOptional()
  @IsStoredText(MAX_URL_LENGTH)
  jwks_url?: string | null;
}

/** Body of `PATCH /workload-identity/issuers/{id}`: members left out stay as they are. */
export class UpdateIssuerDto {
  @MayBeAbsent()
  @IsNameText(1, 200)
  name?: string;

  @MayBeAbsent()
  @IsIssuerUrl(MAX_URL_LENGTH)
  issuer_url?: string;

  @IsOptional()
  @IsStoredText(MAX_URL_LENGTH)
  jwks_url?: string | null;
}

/** Whose tokens an organization trusts. */
export interface IssuerDto {
  id: string;
  name: string;
  issuer_url: string;
  jwks_url: string | null;
  created_at: string;
  updated_at: string | null;
}

export const READ_ONLY_OF_ISSUERS: ReadOnlyMembers<IssuerDto> = {
  fixed: ['id', 'created_at'],
  moving: ['updated_at'],
};
