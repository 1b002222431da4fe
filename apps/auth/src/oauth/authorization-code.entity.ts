import type { ChallengeMethod, LimitReset } from '@libs/contracts';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { ApiKeyEntity } from '../accounts/api-key.entity';
import { WorkspaceEntity } from '../accounts/workspace.entity';
import { OauthAppEntity } from './oauth-app.entity';

/** A code, and the key that it may be exchanged for once. */
@Entity({ name: 'authorization_codes' })
@ForeignKey(() => OauthAppEntity, ['appId'], ['id'], { name: 'authorization_codes_app' })
@ForeignKey(() => WorkspaceEntity, ['workspaceId', 'organizationId'], ['id', 'organizationId'], {
  name: 'authorization_codes_workspace',
})
@ForeignKey(() => ApiKeyEntity, ['keyHash'], ['hash'], { name: 'authorization_codes_key' })
@Check(
  'authorization_codes_method_of_challenge',
  `(challenge IS NULL) = (challenge_method IS NULL) AND challenge_method IN ('S256', 'plain')`,
)
@Check('authorization_codes_used_for_key', '(used_at IS NULL) = (key_hash IS NULL)')
@Check('authorization_codes_limit_not_negative', 'limit_usd >= 0')
@Check('authorization_codes_limit_reset_known', `limit_reset IN ('daily', 'weekly', 'monthly')`)
@Index('authorization_codes_by_expiry', { synchronize: false })
export class AuthorizationCodeEntity {
  /** SHA-256 of the code. */
  @PrimaryColumn({
    type: 'character',
    length: 64,
    name: 'code_hash',
    primaryKeyConstraintName: 'authorization_codes_pkey',
  })
  codeHash: string;

  @Column({ type: 'uuid', name: 'organization_id' })
  organizationId: string;

  @Column({ type: 'uuid', name: 'workspace_id' })
  workspaceId: string;

  /** Null if the code is shown to a person. */
  @Column({ type: 'integer', name: 'app_id', nullable: true })
  appId: number | null;

  /** The S256 challenge, whatever the method: a plain one would be the verifier itself. */
  @Column({ type: 'character', length: 43, nullable: true })
  challenge: string | null;

  @Column({ type: 'text', name: 'challenge_method', nullable: true })
  challengeMethod: ChallengeMethod | null;

  @Column({ type: 'text', name: 'key_name' })
  keyName: string;

  @Column({ type: 'numeric', precision: 38, scale: 12, name: 'limit_usd', nullable: true })
  limitUsd: string | null;

  @Column({ type: 'text', name: 'limit_reset', nullable: true })
  limitReset: LimitReset | null;

  @Column({ type: 'timestamptz', name: 'key_expires_at', nullable: true })
  keyExpiresAt: Date | null;

  @Column({ type: 'timestamptz', name: 'created_at', default: () => 'now()' })
  createdAt: Date;

  @Column({ type: 'timestamptz', name: 'expires_at' })
  expiresAt: Date;

  @Column({ type: 'smallint', name: 'failed_attempts', default: 0 })
  failedAttempts: number;

  @Column({ type: 'timestamptz', name: 'used_at', nullable: true })
  usedAt: Date | null;

  /** The key that was made of it. */
  @Column({ type: 'character', length: 64, name: 'key_hash', nullable: true })
  keyHash: string | null;
}
