import { Column, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';

/** A message that a committed transaction still owes to the broker; the relay deletes it once confirmed. */
@Entity({ name: 'outbox' })
@Index('outbox_available', { synchronize: false })
export class OutboxEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id: string;

  @Column({ type: 'text' })
  contract: string;

  @Column({ type: 'jsonb' })
  payload: object;

  @Column({ type: 'timestamptz', name: 'created_at', default: () => 'now()' })
  createdAt: Date;

  /** When a relay may claim it; a claim moves this ahead by its lease. */
  @Column({ type: 'timestamptz', name: 'available_at', default: () => 'now()' })
  availableAt: Date;

  /** How often the broker did not confirm it, for a reason of the message or its queue. */
  @Column({ type: 'integer', default: 0 })
  attempts: number;
}
