import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A subject token that may not be exchanged again. */
@Entity({ name: 'used_token_ids' })
@Index('used_token_ids_by_expiry', { synchronize: false })
export class UsedTokenIdEntity {
  /** SHA-256 over issuer and `jti`. */
  @PrimaryColumn({ type: 'character', length: 64, primaryKeyConstraintName: 'used_token_ids_pkey' })
  hash: string;

  /** When the token has expired and the row can go. */
  @Column({ type: 'timestamptz', name: 'expires_at' })
  expiresAt: Date;
}
