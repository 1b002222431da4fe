import { IsIn, IsInt, IsOptional, IsUUID, Matches, Max, Min } from 'class-validator';
import { API_KEY_HASH } from '../keys/keys.messages';
import { call } from '../messages/contract';
import { queues } from '../messages/queues';
import type { CredentialRegion } from './credential-rules';

/** The 32 bytes of an X25519 public key (RFC 7748) in base64url, to which data is sealed. */
export const SEALING_PUBLIC_KEY = /^[\w-]{43}$/;

export class GetIntakeKeyRequest {}

export class IntakeKey {
  /** The `kid` of every JWE sealed to this key. */
  keyId: string;
  /** See SEALING_PUBLIC_KEY. */
  publicKey: string;
}

/** Returns the public key to which raw keys are sealed on their way into the credentials app. */
export const GetIntakeKey = call({
  queue: queues.credentials,
  name: 'credentials.get-intake-key',
  askedBy: ['gateway'],
  repeat: 'harmless',
  timeoutMs: 2_000,
  request: GetIntakeKeyRequest,
  response: IntakeKey,
});

/** What routing knows about an enabled credential: everything except the key, its label and its name. */
export class OwnCredentialRecord {
  id: string;
  provider: string;
  sortOrder: number;
  isDisabled: false;
  isFallback: boolean;
  isByokOnly: boolean;
  isRequired: boolean;
  allowedModels: string[] | null;
  allowedApiKeyHashes: string[] | null;
  allowedUserIds: string[] | null;
  declaredZdr: boolean | null;
  declaredRegion: CredentialRegion | null;
  /** Set if its provider refused the key: calls skip it for this many milliseconds after this response. */
  refusedForMs?: number;
  /** True if its provider refused the key when it was last used; otherwise absent. */
  wasRefused?: boolean;
}

export class FindOwnCredentialsRequest {
  @IsUUID()
  organizationId: string;

  @IsUUID()
  workspaceId: string;

  @IsInt()
  @Min(0)
  @Max(1_000_000)
  offset: number;
}

export class FindOwnCredentialsResponse {
  /** The enabled credentials of the workspace from the offset on, as many as fit into a message. */
  credentials: OwnCredentialRecord[];
  totalCount: number;
}

/** Called during every request, so it reads one index. */
export const FindOwnCredentials = call({
  queue: queues.credentials,
  name: 'credentials.find-own-credentials',
  askedBy: ['gateway', 'batch-worker'],
  repeat: 'harmless',
  timeoutMs: 2_000,
  request: FindOwnCredentialsRequest,
  response: FindOwnCredentialsResponse,
});

/**
 * Who requests a key, and for which tenant. `not_found` if the credential belongs to another tenant or does not allow
 * the use.
 */
export class OpenCredentialRequest {
  @IsUUID()
  organizationId: string;

  @IsUUID()
  workspaceId: string;

  @IsUUID()
  id: string;

  /** The caller's API key; a credential that is bound to API keys is opened only for these. */
  @IsOptional()
  @Matches(API_KEY_HASH)
  apiKeyHash?: string | null;

  /** Public key of a key pair that the asking process made for this request. */
  @Matches(SEALING_PUBLIC_KEY)
  recipient: string;
}

export class OpenedCredential {
  /** The raw key as a compact JWE (ECDH-ES, A256GCM) to the recipient. */
  sealedKey: string;
  /** Number of this key among those that the credential has had; for `NoteKeyVerdict`. */
  keyVersion?: number;
  /** True if its provider refused it at its last use: an acceptance must then be reported. */
  wasRefused?: boolean;
}

/**
 * Returns the key of a credential, readable only by the requesting process.
 *
 * Errors: `not_found` for a credential that is unknown, of another tenant, disabled, deleted or not for this API key;
 * `server` if the stored data cannot be decrypted.
 */
export const OpenCredential = call({
  queue: queues.credentials,
  name: 'credentials.open-credential',
  askedBy: ['gateway', 'batch-worker', 'video-worker'],
  repeat: 'harmless',
  timeoutMs: 2_000,
  request: OpenCredentialRequest,
  response: OpenedCredential,
});

export class NoteKeyVerdictRequest {
  @IsUUID()
  organizationId: string;

  @IsUUID()
  workspaceId: string;

  @IsUUID()
  id: string;

  /** The `keyVersion` that `OpenCredential` returned for the used key. */
  @IsInt()
  @Min(1)
  keyVersion: number;

  /** Status with which the provider refused the key; null: it accepted the key. */
  @IsOptional()
  @IsIn([401, 403])
  refusedWith: 401 | 403 | null;
}

export class KeyVerdictNoted {
  /** False if the verdict was already known, or the key no longer exists. */
  isNews: boolean;
}

/**
 * Records whether a provider accepted a key. Calls skip a refused key for a minute, then for twice as long after each
 * further refusal, at most an hour. An acceptance or a new key clears that.
 */
export const NoteKeyVerdict = call({
  queue: queues.credentials,
  name: 'credentials.note-key-verdict',
  askedBy: ['gateway', 'batch-worker', 'video-worker'],
  repeat: 'refused',
  timeoutMs: 2_000,
  changes: 'credentials',
  request: NoteKeyVerdictRequest,
  response: KeyVerdictNoted,
});

export class RewrapCredentialsRequest {
  /** The last id of the previous page; absent for the first page. */
  @IsOptional()
  @IsUUID()
  afterId?: string | null;

  /** The key-encryption key of the previous pages: all pages must be rewrapped with the same one. */
  @IsOptional()
  @Matches(/^[\x21-\x7e]{1,2048}$/)
  keyId?: string | null;

  @IsInt()
  @Min(1)
  @Max(1_000)
  limit: number;
}

export class RewrapCredentialsResponse {
  /** The current key-encryption key. */
  keyId: string;
  rewrapped: number;
  /** Credentials that could not be decrypted and were not changed. */
  failedIds: string[];
  /** Null: this was the last page. */
  lastId: string | null;
  /** Number of credentials in the whole installation that are still wrapped with another key. */
  remaining: number;
}

/**
 * Wraps the data keys of one page of credentials with the current key-encryption key. The sealed provider keys do not
 * change, and every credential can be opened at any time during the rotation.
 *
 * Errors: `conflict` if the current key of the answering process is not `keyId`.
 */
export const RewrapCredentials = call({
  queue: queues.credentials,
  name: 'credentials.rewrap-credentials',
  askedBy: ['cli'],
  repeat: 'harmless',
  timeoutMs: 30_000,
  request: RewrapCredentialsRequest,
  response: RewrapCredentialsResponse,
});

export const vaultContracts = [GetIntakeKey, FindOwnCredentials, OpenCredential, NoteKeyVerdict, RewrapCredentials];
