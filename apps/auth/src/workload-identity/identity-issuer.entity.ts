import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn, Unique } from 'typeorm';
import { OrganizationEntity } from '../accounts/organization.entity';

/** An issuer of JWTs that an organization trusts. */
@Entity({ name: 'identity_issuers' })
@ForeignKey(() => OrganizationEntity, ['organizationId'], ['id'], { name: 'identity_issuers_organization' })
@Unique('identity_issuers_of_organization', ['id', 'organizationId'])
@Check('identity_issuers_name_length', 'char_length(name) BETWEEN 1 AND 200')
@Index('identity_issuers_by_organization', { synchronize: false })
export class IdentityIssuerEntity {
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'identity_issuers_pkey' })
  id: string;

  @Column({ type: 'uuid', name: 'organization_id' })
  organizationId: string;

  @Column({ type: 'text' })
  name: string;

  @Column({ type: 'text', name: 'issuer_url' })
  issuerUrl: string;

  @Column({ type: 'text', name: 'jwks_url', nullable: true })
  jwksUrl: string | null;

  @Column({ type: 'timestamptz', name: 'created_at', default: () => 'now()' })
  createdAt: Date;

  @Column({ type: 'timestamptz', name: 'updated_at', nullable: true })
  updatedAt: Date | null;
}
