import { Column, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';

/** One call with a management key. */
@Entity({ name: 'audit_entries' })
@Index('audit_entries_by_organization', { synchronize: false })
export class AuditEntryEntity {
  @PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: 'audit_entries_pkey',
  })
  id: string;

  @Column({ type: 'timestamptz', default: () => 'now()' })
  at: Date;

  @Column({ type: 'uuid', name: 'organization_id' })
  organizationId: string;

  /** The management key, by its id. */
  @Column({ type: 'uuid', name: 'key_id' })
  keyId: string;

  /** Method and route, such as `DELETE /api/v1/keys/:hash`. */
  @Column({ type: 'text' })
  action: string;

  /** What the path names, such as the hash of a key; null for a list, a new thing, or what is no id of ours. */
  @Column({ type: 'text', nullable: true })
  target: string | null;

  @Column({ type: 'text', name: 'request_id' })
  requestId: string;

  /** Of the answer; null while the call runs, and for one whose process died. */
  @Column({ type: 'smallint', nullable: true })
  status: number | null;
}
