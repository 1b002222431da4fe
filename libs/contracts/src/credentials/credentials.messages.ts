import { IsBoolean, IsIn, IsOptional, IsUUID, Matches, MaxLength } from 'class-validator';
import { call } from '../messages/contract';
import { queues } from '../messages/queues';
import { IsNameText, MayBeAbsent } from '../organizations/member-rules';
import { Page } from '../organizations/page';
import { BothOf, Complete } from '../validation/derived-classes';
import {
  AreKeyHashes,
  AreModelNames,
  AreUserIds,
  CREDENTIAL_REGIONS,
  MAX_CREDENTIAL_NAME_LENGTH,
  PROVIDER_SLUG,
  type CredentialRegion,
} from './credential-rules';

/** A JSON Web Encryption in its compact form (RFC 7516 §7.1). */
export const COMPACT_JWE = /^[\w-]+\.[\w-]*\.[\w-]+\.[\w-]+\.[\w-]+$/;
/** Enough for the longest key in the widest characters. */
export const MAX_SEALED_LENGTH = 70_000;

/** The provider's last refusal of a key that has not been accepted since. */
export class CredentialError {
  /** 401 or 403. */
  status: number;
  /** ISO 8601, like the next. */
  at: string;
  /** Calls skip the key until then. */
  skippedUntil: string;
}

/**
 * The settings of a credential that its owner can change: the only declaration of these fields. None is secret. In a
 * change, null clears a field; a list that is null restricts nothing.
 */
export class CredentialSettings {
  @IsOptional()
  @IsNameText(1, MAX_CREDENTIAL_NAME_LENGTH)
  name?: string | null;

  @IsOptional()
  @AreKeyHashes()
  allowedApiKeyHashes?: string[] | null;

  @IsOptional()
  @AreModelNames()
  allowedModels?: string[] | null;

  @IsOptional()
  @AreUserIds()
  allowedUserIds?: string[] | null;

  @IsOptional()
  @IsIn(CREDENTIAL_REGIONS)
  declaredRegion?: CredentialRegion | null;

  @IsOptional()
  @IsBoolean()
  declaredZdr?: boolean | null;

  @MayBeAbsent()
  @IsBoolean()
  disabled?: boolean;

  @MayBeAbsent()
  @IsBoolean()
  isByokOnly?: boolean;

  @MayBeAbsent()
  @IsBoolean()
  isFallback?: boolean;

  @MayBeAbsent()
  @IsBoolean()
  isRequired?: boolean;
}

/** A credential as its owner may see it; the key itself is in no message. */
export class CredentialRecord extends Complete(CredentialSettings) {
  id: string;
  organizationId: string;
  workspaceId: string;
  provider: string;
  label: string;
  /** Position from 0, within the workspace, provider and section; fallback credentials are a separate section. */
  sortOrder: number;
  createdAt: string;
  /** Null, or absent from an older app: the key works as far as is known. */
  lastError?: CredentialError | null;
}

export class CreateCredentialRequest extends CredentialSettings {
  /**
   * Id of the new credential; if absent, one is chosen. A repeated request with this id returns the existing
   * credential.
   */
  @IsOptional()
  @IsUUID()
  id?: string;

  @IsUUID()
  organizationId: string;

  /** Workspace of the same organization; absent: its default workspace. */
  @IsOptional()
  @IsUUID()
  workspaceId?: string | null;

  @Matches(PROVIDER_SLUG)
  provider: string;

  /** The raw key as a compact JWE to the key of `GetIntakeKey`, made for this organization. */
  @MaxLength(MAX_SEALED_LENGTH)
  @Matches(COMPACT_JWE)
  sealedKey: string;
}

/**
 * Errors: `invalid_request` with the name of the field for a key that does not have the form of the provider's keys, a
 * region that does not fit it, an unknown workspace, key hashes of another organization, and sections that exclude each
 * other; `conflict` for a key that was sealed to an old intake key.
 */
export const CreateCredential = call({
  queue: queues.credentials,
  name: 'credentials.create-credential',
  askedBy: ['gateway'],
  repeat: 'refused',
  timeoutMs: 10_000,
  changes: 'credentials',
  request: CreateCredentialRequest,
  response: CredentialRecord,
});

export class ListCredentialsRequest extends Page {
  @IsUUID()
  organizationId: string;

  /** Left out: the default workspace. */
  @IsOptional()
  @IsUUID()
  workspaceId?: string | null;

  @IsOptional()
  @Matches(PROVIDER_SLUG)
  provider?: string | null;
}

export class ListCredentialsResponse {
  /**
   * By provider, then in the order of their use. If `limit` credentials do not fit into a message, there are fewer but
   * at least one; the next request continues from there.
   */
  credentials: CredentialRecord[];
  /** Credentials that match, on this page or not. */
  totalCount: number;
}

export const ListCredentials = call({
  queue: queues.credentials,
  name: 'credentials.list-credentials',
  askedBy: ['gateway'],
  repeat: 'harmless',
  timeoutMs: 5_000,
  request: ListCredentialsRequest,
  response: ListCredentialsResponse,
});

/** One credential of one organization. A credential of another organization is treated as one that does not exist. */
export class CredentialReference {
  @IsUUID()
  organizationId: string;

  @IsUUID()
  id: string;
}

/** Errors: `not_found`. */
export const GetCredential = call({
  queue: queues.credentials,
  name: 'credentials.get-credential',
  askedBy: ['gateway'],
  repeat: 'harmless',
  timeoutMs: 5_000,
  request: CredentialReference,
  response: CredentialRecord,
});

/** Fields left out stay as they are. */
export class UpdateCredentialRequest extends BothOf(CredentialReference, CredentialSettings) {
  /** The new raw key, sealed like that of a new credential. */
  @MayBeAbsent()
  @MaxLength(MAX_SEALED_LENGTH)
  @Matches(COMPACT_JWE)
  sealedKey?: string;
}

/** Errors: `not_found`, and those of `CreateCredential`. */
export const UpdateCredential = call({
  queue: queues.credentials,
  name: 'credentials.update-credential',
  askedBy: ['gateway'],
  repeat: 'refused',
  timeoutMs: 10_000,
  changes: 'credentials',
  request: UpdateCredentialRequest,
  response: CredentialRecord,
});

export class CredentialDeleted {
  deleted: true;
}

/**
 * The key material is deleted when the answer arrives. Errors: `not_found`, also for a credential that was deleted
 * before.
 */
export const DeleteCredential = call({
  queue: queues.credentials,
  name: 'credentials.delete-credential',
  askedBy: ['gateway'],
  repeat: 'harmless',
  whenGone: { deleted: true },
  timeoutMs: 5_000,
  changes: 'credentials',
  request: CredentialReference,
  response: CredentialDeleted,
});

export const credentialContracts = [
  CreateCredential,
  ListCredentials,
  GetCredential,
  UpdateCredential,
  DeleteCredential,
];
