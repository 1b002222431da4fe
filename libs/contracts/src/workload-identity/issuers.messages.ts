import { IsOptional, IsUUID } from 'class-validator';
import { call } from '../messages/contract';
import { queues } from '../messages/queues';
import { IsNameText, IsStoredText, MayBeAbsent } from '../organizations/member-rules';
import { Page } from '../organizations/page';
import { BothOf, Complete, Needing } from '../validation/derived-classes';
import { IsIssuerUrl } from './issuer-url';

const MAX_URL_LENGTH = 2_048;

/** The settings of an issuer: the only declaration of these fields. In a change, null clears a field. */
export class IssuerSettings {
  @MayBeAbsent()
  @IsNameText(1, 200)
  name?: string;

  /** Exactly the `iss` of its tokens. */
  @MayBeAbsent()
  @IsIssuerUrl(MAX_URL_LENGTH)
  issuerUrl?: string;

  /** Null or absent: the `jwks_uri` of the issuer's OpenID configuration. */
  @IsOptional()
  @IsStoredText(MAX_URL_LENGTH)
  jwksUrl?: string | null;
}

export class NewIssuerSettings extends Needing(IssuerSettings, 'name', 'issuerUrl') {}

/** An issuer of JWTs that an organization trusts. */
export class IssuerRecord extends Complete(NewIssuerSettings) {
  id: string;
  organizationId: string;
  createdAt: string;
  updatedAt: string | null;
}

export class CreateIssuerRequest extends NewIssuerSettings {
  @IsUUID()
  organizationId: string;
}

/** Errors: `invalid_request` for a URL that is not allowed for user-supplied URLs. */
export const CreateIssuer = call({
  queue: queues.auth,
  name: 'auth.create-issuer',
  askedBy: ['gateway'],
  repeat: 'refused',
  timeoutMs: 5_000,
  request: CreateIssuerRequest,
  response: IssuerRecord,
});

/** A page of the organization's issuers, oldest first. */
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

/** One issuer of one organization. An issuer of another organization is treated as one that does not exist. */
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

/** Fields left out stay as they are. */
export class UpdateIssuerRequest extends BothOf(IssuerReference, IssuerSettings) {}

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

/** Deletes its policies too: without their issuer they cannot match any token. Errors: `not_found`. */
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
