import { Injectable } from '@nestjs/common';
import type { RedeemAuthorizationCodeRequest } from '@libs/contracts';
import { AuditRepository, Database, enterTenant, outcomeOfRow } from '@libs/persistence';
import { IsNull, type EntityManager } from 'typeorm';
import { refusalOf } from '../constraint-errors';
import { ApiKeyEntity } from '../accounts/api-key.entity';
import { KeysRepository, type NewKey } from '../keys/keys.repository';
import { AuthorizationCodeEntity } from './authorization-code.entity';
import { judgeRedemption, type CodeState, type Verdict } from './judge-redemption';

export type NewCode = Pick<
  AuthorizationCodeEntity,
  | 'codeHash'
  | 'organizationId'
  | 'challenge'
  | 'challengeMethod'
  | 'keyName'
  | 'limitUsd'
  | 'limitReset'
  | 'keyExpiresAt'
> & { readonly workspaceId: string | null; readonly appHost: string | null; readonly lifetimeSeconds: number };

/** The fields of the key that the code does not hold. */
export type KeyOfCode = Pick<NewKey, 'id' | 'hash' | 'label'>;

type KeyRow = Pick<KeyOfCode, 'id' | 'hash'>;

/** Name of a redemption in the audit trail. */
const ACTION = 'POST /api/v1/auth/keys';

type LockedCode = AuthorizationCodeEntity & CodeState;

/** One app per host; the row is created if it does not exist yet. */
const ENSURE_APP = `
  WITH known AS (SELECT id FROM oauth_apps WHERE host = $1),
       made AS (INSERT INTO oauth_apps (host) SELECT $1 WHERE NOT EXISTS (SELECT FROM known)
                ON CONFLICT (host) DO UPDATE SET host = excluded.host RETURNING id)
  SELECT id FROM known UNION ALL SELECT id FROM made`;

const LOCK_CODE = `
  SELECT code_hash AS "codeHash", organization_id AS "organizationId", workspace_id AS "workspaceId",
         challenge, challenge_method AS "challengeMethod", key_name AS "keyName", limit_usd AS "limitUsd",
         limit_reset AS "limitReset", key_expires_at AS "keyExpiresAt", failed_attempts AS "failedAttempts",
         used_at AS "usedAt", key_hash AS "keyHash",
         expires_at <= clock_timestamp() OR EXISTS (
           SELECT FROM workspaces w WHERE w.id = workspace_id AND w.deleted_at IS NOT NULL) AS "isExpired"
  FROM authorization_codes WHERE code_hash = $1 FOR UPDATE`;

/**
 * Each code is evaluated with a lock on its row: of any number of requests with the same code, one creates the key and
 * the others see that the code was used.
 */
@Injectable()
export class AuthorizationCodesRepository {
  constructor(
    private readonly database: Database,
    private readonly keys: KeysRepository,
    private readonly audit: AuditRepository,
  ) {}

  /** @throws AppError invalid_request for a foreign workspace, conflict for a code that exists */
  async insertCode({ appHost, lifetimeSeconds, ...code }: NewCode): Promise<AuthorizationCodeEntity> {
    return this.database
      .entities(
        async (manager) => {
          // Apps belong to no organization.
          const appId = appHost === null ? null : await ensureApp(manager, appHost);
          await enterTenant(manager, { organizationId: code.organizationId });
          const workspaceId = await this.keys.lockWorkspace(manager, code);
          const expiresAt = (): string => `now() + interval '${Number(lifetimeSeconds)} seconds'`;
          await manager.insert(AuthorizationCodeEntity, { ...code, workspaceId, appId, expiresAt });
          return manager.findOneByOrFail(AuthorizationCodeEntity, { codeHash: code.codeHash });
        },
        outcomeOfRow('authorization_codes', 'code_hash', code.codeHash),
      )
      .catch((error: unknown) => {
        throw refusalOf(error);
      });
  }

  /**
   * Judges the code, then makes the key, counts a failed attempt, or revokes the key. If the answer to the commit is
   * lost, looks up whether the key was made: a caller that sent the code again would have the key revoked.
   */
  async redeemCode(request: RedeemAuthorizationCodeRequest, key: KeyOfCode): Promise<Verdict> {
    return this.database.entities(
      async (manager) => {
        const [code] = await manager.query<LockedCode[]>(LOCK_CODE, [request.codeHash]);
        if (code === undefined) return 'refused';
        await enterTenant(manager, { organizationId: code.organizationId });
        const verdict = judgeRedemption(code, { ...request, receivedAt: new Date(request.receivedAt) });
        if (verdict === 'redeemed') {
          await this.useCode(manager, code, key);
          await this.note(manager, code, { request, key, status: 200 });
        } else if (verdict === 'replayed') {
          const revoked = await revokeKeyOf(manager, code);
          if (revoked !== null) await this.note(manager, code, { request, key: revoked, status: 403 });
        } else if (verdict !== 'refused') {
          // This may be an attempt with a stolen code. The entry contains the hash of the code, because there is no
          // key.
          const status = verdict === 'wrong-proof' ? 403 : 400;
          await this.note(manager, code, { request, key: { id: key.id, hash: code.codeHash }, status });
          await manager.increment(AuthorizationCodeEntity, { codeHash: code.codeHash }, 'failedAttempts', 1);
        }
        return verdict;
      },
      outcomeOfRow('api_keys', 'hash', key.hash),
    );
  }

  /** Writes an audit entry whose actor is the key for which the code was or would have been exchanged. */
  private note(
    manager: EntityManager,
    { organizationId }: LockedCode,
    { request, key, status }: { request: RedeemAuthorizationCodeRequest; key: KeyRow; status: number },
  ): Promise<void> {
    const { requestId, clientRequestId } = request;
    const entry = { organizationId, keyId: key.id, action: ACTION, target: key.hash, requestId, clientRequestId };
    return this.audit.addEntryWithin((sql, values) => manager.query(sql, values), entry, status);
  }

  private async useCode(manager: EntityManager, code: LockedCode, key: KeyOfCode): Promise<void> {
    await this.keys.insertKeyWithin(manager, {
      ...key,
      organizationId: code.organizationId,
      workspaceId: code.workspaceId,
      kind: 'api',
      name: code.keyName,
      limitUsd: code.limitUsd,
      limitReset: code.limitReset,
      includeByokInLimit: false,
      expiresAt: code.keyExpiresAt,
      creatorUserId: null,
    });
    const used = { usedAt: () => 'clock_timestamp()', keyHash: key.hash };
    await manager.update(AuthorizationCodeEntity, { codeHash: code.codeHash }, used);
  }
}

async function ensureApp(manager: EntityManager, host: string): Promise<number> {
  const [app] = await manager.query<{ id: number }[]>(ENSURE_APP, [host]);
  return app!.id;
}

/** Revokes the key made from the code. Returns it if it was usable until now. */
async function revokeKeyOf(manager: EntityManager, { keyHash: hash }: LockedCode): Promise<KeyRow | null> {
  const key = hash === null ? null : await manager.findOneBy(ApiKeyEntity, { hash, deletedAt: IsNull() });
  if (key === null) return null;
  const { affected } = await manager.update(
    ApiKeyEntity,
    { id: key.id, deletedAt: IsNull() },
    { deletedAt: () => 'now()' },
  );
  return affected === 1 ? key : null;
}
