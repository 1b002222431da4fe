import { IsOptional, IsUUID } from 'class-validator';
import { call } from '../messages/contract';
import { queues } from '../messages/queues';
import { IsNameText, IsStoredText, MayBeAbsent } from '../organizations/member-rules';
import { Page } from '../organizations/page';

const MAX_URL_LENGTH = 2_048;

/** An issuer of JWTs that an organization trusts. */
export class IssuerRecord {
  id: string;
  organizationId: string;
  name: string;
  issuerUrl: string;
  jwksUrl: string | null;
  createdAt: string;
  updatedAt: string | null;
}

export class CreateIssuerRequest {
  @IsUUID()
  organizationId: string;

  @IsNameText(1, 200)
  name: string;

  @IsStoredText(MAX_URL_LENGTH)
  issuerUrl: string;

  @IsOptional()
  @IsStoredText(MAX_URL_LENGTH)
  jwksUrl: string | null;
}

/** Errors: `invalid_request` for a URL that user-supplied URLs may not have. */
export const CreateIssuer = call({
  queue: queues.auth,
  name: 'auth.create-issuer',
  askedBy: ['gateway'],
  repeat: 'refused',
  timeoutMs: 5_000,
  request: CreateIssuerRequest,
  response: IssuerRecord,
});

/** A page of what an organization has, oldest first. */
export class ListIssuersRequest extends Page {
  @IsUUID()
  organizationId: string;
}

export class ListIssuersResponse {
  issuers: IssuerRecord[];
  totalCount: number;
}

export const ListIssuers = call({
  queue: queues.auth,
  name: 'auth.list-issuers',
  askedBy: ['gateway'],
  repeat: 'harmless',
  timeoutMs: 5_000,
  request: ListIssuersRequest,
  response: ListIssuersResponse,
});

/** One issuer of one organization. Another organization's is answered like one that never was. */
export class IssuerReference {
  @IsUUID()
  organizationId: string;

  @IsUUID()
  id: string;
}

/** Errors: `not_found`. */
export const GetIssuer = call({
  queue: queues.auth,
  name: 'auth.get-issuer',
  askedBy: ['gateway'],
  repeat: 'harmless',
  timeoutMs: 5_000,
  request: IssuerReference,
  response: IssuerRecord,
});

/** Members left out stay as they are; null takes the JWKS URL away. */
export class UpdateIssuerRequest extends IssuerReference {
  @MayBeAbsent()
  @IsNameText(1, 200)
  name?: string;

  @MayBeAbsent()
  @IsStoredText(MAX_URL_LENGTH)
  issuerUrl?: string;

  @IsOptional()
  @IsStoredText(MAX_URL_LENGTH)
  jwksUrl?: string | null;
}

/** Errors: `not_found`, `invalid_request` as for `CreateIssuer`. */
export const UpdateIssuer = call({
  queue: queues.auth,
  name: 'auth.update-issuer',
  askedBy: ['gateway'],
  repeat: 'refused',
  timeoutMs: 5_000,
  request: UpdateIssuerRequest,
  response: IssuerRecord,
});

export class IssuerDeleted {
  deleted: true;
}

/** Its policies go with it: without their issuer they can match no token. Errors: `not_found`. */
export const DeleteIssuer = call({
  queue: queues.auth,
  name: 'auth.delete-issuer',
  askedBy: ['gateway'],
  repeat: 'harmless',
  whenGone: { deleted: true },
  timeoutMs: 5_000,
  request: IssuerReference,
  response: IssuerDeleted,
});

export const issuerContracts = [CreateIssuer, ListIssuers, GetIssuer, UpdateIssuer, DeleteIssuer];
