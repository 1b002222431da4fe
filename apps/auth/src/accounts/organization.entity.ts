import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

@Entity({ name: 'organizations' })
@Check('organizations_name_length', 'char_length(name) BETWEEN 1 AND 100')
export class OrganizationEntity {
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'organizations_pkey' })
  id: string;

  @Column({ type: 'text' })
  name: string;

  @Column({ type: 'timestamptz', name: 'created_at', default: () => 'now()' })
  createdAt: Date;
}
