import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** A message that a committed transaction still owes to the broker; the relay deletes it once confirmed. */
@Entity({ name: 'outbox' })
export class OutboxEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id: string;

  @Column({ type: 'text' })
  contract: string;

  @Column({ type: 'jsonb' })
  payload: object;

  @Column({ type: 'timestamptz', name: 'created_at', default: () => 'now()' })
  createdAt: Date;
}
