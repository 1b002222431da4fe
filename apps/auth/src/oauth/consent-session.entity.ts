import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { ApiKeyEntity } from '../accounts/api-key.entity';

/** Somebody who signed in on the consent page with a management key. */
@Entity({ name: 'consent_sessions' })
@ForeignKey(() => ApiKeyEntity, ['keyHash'], ['hash'], { name: 'consent_sessions_key' })
@Index('consent_sessions_by_expiry', { synchronize: false })
export class ConsentSessionEntity {
  /** SHA-256 of what the cookie holds. */
  @PrimaryColumn({
    type: 'character',
    length: 64,
    name: 'session_hash',
    primaryKeyConstraintName: 'consent_sessions_pkey',
  })
  sessionHash: string;

  @Column({ type: 'character', length: 64, name: 'key_hash' })
  keyHash: string;

  @Column({ type: 'timestamptz', name: 'created_at', default: () => 'now()' })
  createdAt: Date;

  @Column({ type: 'timestamptz', name: 'expires_at' })
  expiresAt: Date;
}
