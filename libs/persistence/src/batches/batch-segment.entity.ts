import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * A run of consecutive lines: the unit of work that a worker leases, and of progress.
 * Claimable when `state = 'open'` and `available_at` has passed; a lease moves `available_at` ahead, so a
 * dead worker's segment becomes claimable by itself.
 */
@Entity({ name: 'batch_segments' })
@Check('batch_segments_state_known', `state IN ('waiting', 'open', 'done')`)
@Check('batch_segments_not_overfull', 'completed + failed <= last_seq - first_seq + 1')
@Index('batch_segments_open', { synchronize: false })
export class BatchSegmentEntity {
  @PrimaryColumn({ type: 'bigint', name: 'batch_number' })
  batchNumber: string;

  @PrimaryColumn({ type: 'integer' })
  number: number;

  @Column({ type: 'date', name: 'created_on' })
  createdOn: string;

  @Column({ type: 'integer', name: 'first_seq' })
  firstSeq: number;

  @Column({ type: 'integer', name: 'last_seq' })
  lastSeq: number;

  @Column({ type: 'text', default: 'waiting' })
  state: 'waiting' | 'open' | 'done';

  @Column({ type: 'timestamptz', name: 'available_at', default: () => 'now()' })
  availableAt: Date;

  /** Grows with every lease; a write that carries an older number touches no row. */
  @Column({ type: 'bigint', default: 0 })
  fence: string;

  /** Leases so far, counted when taken, so that a crash counts. */
  @Column({ type: 'integer', default: 0 })
  attempts: number;

  @Column({ type: 'integer', default: 0 })
  completed: number;

  @Column({ type: 'integer', default: 0 })
  failed: number;
}
