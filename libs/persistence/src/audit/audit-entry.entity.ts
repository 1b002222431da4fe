import { Check, Column, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';

/** One call with a management key, or one action of an operator at the command line. */
@Entity({ name: 'audit_entries' })
@Index('audit_entries_by_organization', { synchronize: false })
@Check('audit_entries_by_one', '(key_id IS NULL) = (operator IS NOT NULL)')
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

  /** Id of the management key; null for an operator. */
  @Column({ type: 'uuid', name: 'key_id', nullable: true })
  keyId: string | null;

  /** The operator at the command line; null if a key was used. */
  @Column({ type: 'text', nullable: true })
  operator: string | null;

  /** Method and route, such as `DELETE /api/v1/keys/:hash`, or the words of a command. */
  @Column({ type: 'text' })
  action: string;

  /**
   * The object in the path, such as the hash of a key; null for a list, a new object, or anything that is not one of
   * our ids.
   */
  @Column({ type: 'text', nullable: true })
  target: string | null;

  @Column({ type: 'text', name: 'request_id' })
  requestId: string;

  /** The `X-Request-Id` that the caller sent, if any. */
  @Column({ type: 'text', name: 'client_request_id', nullable: true })
  clientRequestId: string | null;

  /** Status of the answer; null while the call runs, and for a call whose process died. */
  @Column({ type: 'smallint', nullable: true })
  status: number | null;
}
