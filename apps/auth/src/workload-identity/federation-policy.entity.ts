import type { PolicyCheck } from '@libs/contracts';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { ApiKeyEntity } from '../accounts/api-key.entity';
import { IdentityIssuerEntity } from './identity-issuer.entity';

/** Which tokens of an issuer may act as which key. */
@Entity({ name: 'federation_policies' })
@ForeignKey(() => IdentityIssuerEntity, ['issuerId', 'organizationId'], ['id', 'organizationId'], {
  name: 'federation_policies_issuer',
  onDelete: 'CASCADE',
})
@ForeignKey(() => ApiKeyEntity, ['apiKeyHash'], ['hash'], { name: 'federation_policies_key' })
@Check('federation_policies_name_length', 'char_length(name) BETWEEN 1 AND 200')
@Check('federation_policies_bind_somebody', 'subject IS NOT NULL OR condition IS NOT NULL')
@Index('federation_policies_by_organization', { synchronize: false })
@Index('federation_policies_by_issuer', { synchronize: false })
export class FederationPolicyEntity {
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'federation_policies_pkey' })
  id: string;

  @Column({ type: 'uuid', name: 'organization_id' })
  organizationId: string;

  @Column({ type: 'uuid', name: 'issuer_id' })
  issuerId: string;

  @Column({ type: 'text' })
  name: string;

  @Column({ type: 'text', nullable: true })
  subject: string | null;

  @Column({ type: 'text' })
  audience: string;

  @Column({ type: 'text', nullable: true })
  condition: string | null;

  @Column({ type: 'character', length: 64, name: 'api_key_hash' })
  apiKeyHash: string;

  @Column({ type: 'boolean' })
  enabled: boolean;

  @Column({ type: 'boolean', name: 'single_use' })
  singleUse: boolean;

  @Column({ type: 'jsonb' })
  checks: PolicyCheck[];

  @Column({ type: 'timestamptz', name: 'created_at', default: () => 'now()' })
  createdAt: Date;

  @Column({ type: 'timestamptz', name: 'updated_at', nullable: true })
  updatedAt: Date | null;
}
