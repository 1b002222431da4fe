import { Column, Entity, PrimaryColumn } from 'typeorm';

/** What was asked and answered in one call, where the operator has that kept. */
@Entity({ name: 'generation_contents' })
export class GenerationContentEntity {
  /** UTC day that the id names; its rows go together. */
  @PrimaryColumn({ type: 'date', name: 'created_on', primaryKeyConstraintName: 'generation_contents_pkey' })
  createdOn: string;

  @PrimaryColumn({ type: 'text', name: 'generation_id', primaryKeyConstraintName: 'generation_contents_pkey' })
  generationId: string;

  @Column({ type: 'uuid', name: 'organization_id' })
  organizationId: string;

  @Column({ type: 'uuid', name: 'workspace_id' })
  workspaceId: string;

  /** Plain json and not jsonb, which refuses some texts that callers send. */
  @Column({ type: 'json' })
  input: unknown;

  @Column({ type: 'json' })
  output: unknown;

  @Column({ type: 'json', nullable: true })
  error: unknown;
}
