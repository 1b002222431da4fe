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
 * SHA-256 of a key in lower-case hex: the public identifier of a key, and its path id in `/keys/{hash}`. A rotated key
 * keeps that of its first secret.
 */
export const API_KEY_HASH = /^[0-9a-f]{64}$/;

/** A limit starts anew at 00:00 UTC: every day, every Monday, or on the first of the month. */
export const LIMIT_RESETS = ['daily', 'weekly', 'monthly'] as const;
export type LimitReset = (typeof LIMIT_RESETS)[number];

export const KEY_KINDS: readonly ApiKeyKind[] = ['api', 'management'];

/**
 * Who is calling. An API key acts in one workspace; a management key acts on its organization's
 * workspaces and has none of its own.
 */
export class Principal {
  /** Of the key record, whichever of its secrets was presented. */
  keyHash: string;
  /** UUID: what logs name instead of the hash. */
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
  /** The user for whom the key was made, as its maker named them. */
  creatorUserId?: string | null;
  /** Policies of the workspace and of the key, if any; every one of them binds. */
  policies?: readonly OwnedPolicy[];
  /** The workspace's webhook URL for batches and videos whose requests name none. */
  defaultCallbackUrl?: string;
  /** Of the workspace; absent where nothing is set. */
  settings?: WorkspaceSettings;
  /** The workspace's budgets: all of them bind. Absent if it has none. */
  budgets?: readonly BudgetLimit[];
}

/** A budget, as calls are checked against it. */
export interface BudgetLimit {
  /** Decimal US dollars. */
  readonly amountUsd: string;
  /** Null: never. */
  readonly reset: LimitReset | null;
  readonly includesByok: boolean;
}

/**
 * What the owner of a key sets, at its creation and later: the one declaration of these fields. Requests, HTTP bodies,
 * records and views derive theirs from it, so nothing secret may be here. In a change, null takes a value away.
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

  /** Of an API key only; a change replaces the whole policy. */
  @IsOptional()
  @IsRoutingPolicy()
  policy?: RoutingPolicy | null;
}

/** With what is set once, at the creation of a key. */
export class NewKeySettings extends Needing(KeySettings, 'name') {
  /** ISO 8601 UTC with seconds, in the future. */
  @IsOptional()
  @IsUtcInstant()
  expiresAt?: string | null;

  @IsOptional()
  @IsNameText(1, 200)
  creatorUserId?: string | null;
}

/** With what a new key is not set to. */
export class KeyChanges extends KeySettings {
  @MayBeAbsent()
  @IsBoolean()
  disabled?: boolean;
}

/** A key as its owner may see it; the key itself is not kept after its creation. */
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
   * Whether the hash is of the `secret` that a caller presents or of the `record` that a batch or token names. A record
   * stays usable under its hash after the secret of that hash has ended. Left out: `secret`.
   */
  @IsOptional()
  @IsIn(['secret', 'record'])
  by?: 'secret' | 'record';
}

export class VerifyKeyResponse {
  /** Null for a key that is unknown, deleted, disabled or expired: callers cannot distinguish these. */
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
 * A key to store. The asking process has made the key and sends only its hash and label: messages are kept in broker
 * memory, queues and traces, so they must be worthless to a reader.
 */
export class CreateKeyRequest extends NewKeySettings {
  @IsUUID()
  organizationId: string;

  /** Of the same organization; left out for a management key, and for the default workspace. */
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

  /** Only keys with one of these hashes; left out: all. */
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

/** One key of one organization. A key of another organization is answered like one that never was. */
export class KeyReference {
  @IsUUID()
  organizationId: string;

  @Matches(API_KEY_HASH)
  hash: string;

  /** When given, keys of the other kind are answered as unknown. */
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
