import { Column, Entity, PrimaryColumn } from 'typeorm';

/** What the key pairs for keys on their way in are derived from, where the key-encryption key is a managed one. */
@Entity({ name: 'intake_seeds' })
export class IntakeSeedEntity {
  @PrimaryColumn({ type: 'text', name: 'key_encryption_key_id', primaryKeyConstraintName: 'intake_seeds_pkey' })
  keyEncryptionKeyId: string;

  @Column({ type: 'bytea', name: 'wrapped_seed' })
  wrappedSeed: Buffer;
}
