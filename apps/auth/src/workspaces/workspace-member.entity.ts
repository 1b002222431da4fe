import { Check, Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { WorkspaceEntity } from '../accounts/workspace.entity';

/** A user by the client's own name. This product has no users, so the name is text that is only compared. */
@Entity({ name: 'workspace_members' })
@ForeignKey(() => WorkspaceEntity, ['workspaceId', 'organizationId'], ['id', 'organizationId'], {
  name: 'workspace_members_workspace',
})
@Check('workspace_members_user_id_length', 'char_length(user_id) BETWEEN 1 AND 200')
export class WorkspaceMemberEntity {
  @PrimaryColumn({ type: 'uuid', name: 'workspace_id', primaryKeyConstraintName: 'workspace_members_pkey' })
  workspaceId: string;

  @Column({ type: 'uuid', name: 'organization_id' })
  organizationId: string;

  @PrimaryColumn({ type: 'text', name: 'user_id', primaryKeyConstraintName: 'workspace_members_pkey' })
  userId: string;

  @Column({ type: 'uuid' })
  id: string;

  @Column({ type: 'timestamptz', name: 'created_at', default: () => 'now()' })
  createdAt: Date;
}
