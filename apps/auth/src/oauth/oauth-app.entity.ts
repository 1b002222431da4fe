import { Column, Entity, PrimaryGeneratedColumn, Unique } from 'typeorm';

/** A program that asks for keys, known by the host of its callback URL. */
@Entity({ name: 'oauth_apps' })
@Unique('oauth_apps_host_once', ['host'])
export class OauthAppEntity {
  @PrimaryGeneratedColumn('identity', {
    type: 'integer',
    generatedIdentity: 'BY DEFAULT',
    primaryKeyConstraintName: 'oauth_apps_pkey',
  })
  id: number;

  @Column({ type: 'text' })
  host: string;

  @Column({ type: 'timestamptz', name: 'created_at', default: () => 'now()' })
  createdAt: Date;
}
