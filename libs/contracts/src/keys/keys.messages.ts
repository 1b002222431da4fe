import { ArrayMaxSize, IsArray, IsBoolean, IsIn, IsOptional, IsUUID, Matches } from 'class-validator';
import { call } from '../messages/contract';
import { queues } from '../messages/queues';
import { IsNameText, IsUtcInstant, MayBeAbsent } from '../organizations/member-rules';
import { Page } from '../organizations/page';
import { IsRoutingPolicy, type OwnedPolicy, type RoutingPolicy } from '../routing/routing-policy';
import { BothOf, Complete, Needing } from '../validation/derived-classes';
import type { WorkspaceSettings } from '../workspaces/workspace-settings';
import type { ApiKeyKind } from './api-key-format';
import { USD_DECIMAL } from './usd-amount';

/**
 * SHA-256 of a key in lower-case hex: the public identifier of a key, and its id in `/keys/{hash}`. A rotated key keeps
 * that of its first secret.
 */
export const API_KEY_HASH = /^[0-9a-f]{64}$/;

/** A limit restarts at 00:00 UTC: every day, every Monday, or on the first of the month. */
export const LIMIT_RESETS = ['daily', 'weekly', 'monthly'] as const;
export type LimitReset = (typeof LIMIT_RESETS)[number];

export const KEY_KINDS: readonly ApiKeyKind[] = ['api', 'management'];

/**
 * The caller. An API key acts in one workspace; a management key acts on its organization's workspaces and belongs to
 * none.
 */
export class Principal {
  /** Hash of the key record, whichever of the key's secrets was used. */
  keyHash: string;
  /** UUID, which logs contain instead of the hash. */
  keyId: string;
  kind: ApiKeyKind;
  organizationId: string;
  /** Null exactly for a management key. */
  workspaceId: string | null;
  name: string;
  /** Decimal US dollars; null is no limit. */
  limitUsd: string | null;
  limitReset: LimitReset | null;
  includeByokInLimit: boolean;
  /** ISO 8601 UTC; null is never. For the old secret of a rotated key at most the end of its overlap. */
  expiresAt: string | null;
  /** The user for whom the key was created, by the creator's own name for the user. */
  creatorUserId?: string | null;
  /** Policies of the workspace and of the key, if any; all of them apply. */
  policies?: readonly OwnedPolicy[];
  /** The workspace's default webhook URL for batches and videos. */
  defaultCallbackUrl?: string;
  /** Settings of the workspace; absent if none are set. */
  settings?: WorkspaceSettings;
  /** The workspace's budgets, which all apply. Absent if it has none. */
  budgets?: readonly BudgetLimit[];
}

/** A budget, as calls are checked against it. */
export interface BudgetLimit {
  /** Decimal US dollars. */
  readonly amountUsd: string;
  /** Null: the limit never restarts. */
  readonly reset: LimitReset | null;
  readonly includesByok: boolean;
}

/**
 * The settings of a key that its owner makes, at its creation and later: the only declaration of these fields.
 * Requests, HTTP bodies, records and views are derived from it, so it must not contain secrets. In a change, null
 * clears a field.
 */
export class KeySettings {
  @MayBeAbsent()
  @IsNameText(1, 200)
  name?: string;

  /** Decimal US dollars; in HTTP a number, `limit`. */
  @IsOptional()
  @Matches(USD_DECIMAL)
  limitUsd?: string | null;

  @IsOptional()
  @IsIn(LIMIT_RESETS)
  limitReset?: LimitReset | null;

  @MayBeAbsent()
  @IsBoolean()
  includeByokInLimit?: boolean;

  /** For API keys only; a change replaces the whole policy. */
  @IsOptional()
  @IsRoutingPolicy()
  policy?: RoutingPolicy | null;
}

/** Adds what is set only once, at the creation of a key. */
export class NewKeySettings extends Needing(KeySettings, 'name') {
  /** ISO 8601 UTC with seconds, in the future. */
  @IsOptional()
  @IsUtcInstant()
  expiresAt?: string | null;

  @IsOptional()
  @IsNameText(1, 200)
  creatorUserId?: string | null;
}

/** Adds what cannot be set on a new key. */
export class KeyChanges extends KeySettings {
  @MayBeAbsent()
  @IsBoolean()
  disabled?: boolean;
}

/** A key as its owner may see it; the key itself is not stored after its creation. */
export class KeyRecord extends Complete(NewKeySettings) {
  hash: string;
  id: string;
  organizationId: string;
  workspaceId: string | null;
  kind: ApiKeyKind;
  label: string;
  disabled: boolean;
  createdAt: string;
  updatedAt: string | null;
  /** ISO 8601 UTC: until when the secret before the current one works; null when only the current one does. */
  previousSecretUntil?: string | null;
}

export class VerifyKeyRequest {
  @Matches(API_KEY_HASH)
  keyHash: string;

  /**
   * Whether the hash is that of the `secret` that a caller sent, or of the `record` that a batch or token names. A
   * record stays usable by its hash after the secret of that hash has expired. Default: `secret`.
   */
  @IsOptional()
  @IsIn(['secret', 'record'])
  by?: 'secret' | 'record';
}

export class VerifyKeyResponse {
  /** Null for a key that is unknown, deleted, disabled or expired: callers cannot distinguish these cases. */
  principal: Principal | null;
}

/** Returns who may act with a key now. Called during every request, so it reads one indexed row. */
export const VerifyKey = call({
  queue: queues.auth,
  name: 'auth.verify-key',
  askedBy: ['gateway', 'batch-worker', 'cli'],
  repeat: 'harmless',
  timeoutMs: 2_000,
  request: VerifyKeyRequest,
  response: VerifyKeyResponse,
});

/**
 * A key to store. The requesting process has created the key and sends only its hash and label: messages are kept in
 * broker memory, queues and traces, so they must be worthless to a reader.
 */
export class CreateKeyRequest extends NewKeySettings {
  @IsUUID()
  organizationId: string;

  /** Workspace of the same organization; absent for a management key, and for the default workspace. */
  @IsOptional()
  @IsUUID()
  workspaceId?: string | null;

  @IsIn(KEY_KINDS)
  kind: ApiKeyKind;

  @Matches(API_KEY_HASH)
  hash: string;

  @IsNameText(1, 80)
  label: string;
}

/** Errors: `invalid_request` for a workspace the organization does not have, and an expiry that has passed. */
export const CreateKey = call({
  queue: queues.auth,
  name: 'auth.create-key',
  askedBy: ['gateway', 'cli'],
  repeat: 'refused',
  timeoutMs: 5_000,
  request: CreateKeyRequest,
  response: KeyRecord,
});

export class ListKeysRequest extends Page {
  @IsUUID()
  organizationId: string;

  @IsOptional()
  @IsUUID()
  workspaceId?: string | null;

  /** Left out: keys of both kinds. */
  @IsOptional()
  @IsIn(KEY_KINDS)
  kind?: ApiKeyKind;

  /** Only keys with one of these hashes; absent: all. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(100)
  @Matches(API_KEY_HASH, { each: true })
  hashes?: string[] | null;

  @IsBoolean()
  includeDisabled: boolean;
}

export class ListKeysResponse {
  /** Newest first. */
  keys: KeyRecord[];
  /** Keys that match, on this page or not. */
  totalCount: number;
}

export const ListKeys = call({
  queue: queues.auth,
  name: 'auth.list-keys',
  askedBy: ['gateway', 'credentials', 'cli'],
  repeat: 'harmless',
  timeoutMs: 5_000,
  request: ListKeysRequest,
  response: ListKeysResponse,
});

/** One key of one organization. A key of another organization is treated as one that does not exist. */
export class KeyReference {
  @IsUUID()
  organizationId: string;

  @Matches(API_KEY_HASH)
  hash: string;

  /** If given, keys of the other kind are treated as unknown. */
  @IsOptional()
  @IsIn(KEY_KINDS)
  kind?: ApiKeyKind;
}

/** Errors: `not_found`. */
export const GetKey = call({
  queue: queues.auth,
  name: 'auth.get-key',
  askedBy: ['gateway'],
  repeat: 'harmless',
  timeoutMs: 5_000,
  request: KeyReference,
  response: KeyRecord,
});

/** Fields left out stay as they are. */
export class UpdateKeyRequest extends BothOf(KeyReference, KeyChanges) {}

/** Errors: `not_found`; `invalid_request` for a limit on a management key, which spends nothing. */
export const UpdateKey = call({
  queue: queues.auth,
  name: 'auth.update-key',
  askedBy: ['gateway', 'cli'],
  repeat: 'refused',
  timeoutMs: 5_000,
  changes: 'access',
  request: UpdateKeyRequest,
  response: KeyRecord,
});

export class KeyDeleted {
  deleted: true;
}

/** Errors: `not_found`, also for a key that was deleted before. */
export const DeleteKey = call({
  queue: queues.auth,
  name: 'auth.delete-key',
  askedBy: ['gateway', 'cli'],
  repeat: 'harmless',
  whenGone: { deleted: true },
  timeoutMs: 5_000,
  changes: 'access',
  request: KeyReference,
  response: KeyDeleted,
});

export const keyContracts = [VerifyKey, CreateKey, ListKeys, GetKey, UpdateKey, DeleteKey];
