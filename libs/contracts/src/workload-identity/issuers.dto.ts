import type { ReadOnlyMembers } from '../organizations/read-only-members';
import { HttpFields } from '../validation/derived-classes';
import { IssuerSettings, NewIssuerSettings } from './issuers.messages';

/** Body of `POST /workload-identity/issuers`. */
export class CreateIssuerDto extends HttpFields(NewIssuerSettings) {}

/** Body of `PATCH /workload-identity/issuers/{id}`: absent fields stay unchanged. */
export class UpdateIssuerDto extends HttpFields(IssuerSettings) {}

/** An issuer whose tokens an organization trusts. */
export interface IssuerDto extends Required<CreateIssuerDto> {
  id: string;
  created_at: string;
  updated_at: string | null;
}

export const READ_ONLY_OF_ISSUERS: ReadOnlyMembers<IssuerDto> = {
  fixed: ['id', 'created_at'],
  moving: ['updated_at'],
};
