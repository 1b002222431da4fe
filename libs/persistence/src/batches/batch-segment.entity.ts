import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * A run of consecutive lines: the unit of work that a worker leases, and of progress.
 * Claimable when `state = 'open'` and `available_at` has passed; a lease moves `available_at` ahead, so a
 * dead worker's segment becomes claimable by itself. `parked`: an order at the provider's own batch API has it.
 * `suspect`: its workers died so often that its next line runs alone.
 */
@Entity({ name: 'batch_segments' })
@Check('batch_segments_state_known', `state IN ('waiting', 'open', 'parked', 'suspect', 'done')`)
@Check('batch_segments_not_overfull', 'completed + failed <= last_seq - first_seq + 1')
@Index('batch_segments_open', { synchronize: false })
@Index('batch_segments_unfinished', { synchronize: false })
@Index('batch_segments_suspect', { synchronize: false })
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
  state: 'waiting' | 'open' | 'parked' | 'suspect' | 'done';

  @Column({ type: 'timestamptz', name: 'available_at', default: () => 'now()' })
  availableAt: Date;

  /** Grows with every lease; a write that carries an older number touches no row. */
  @Column({ type: 'bigint', default: 0 })
  fence: string;

  /** Leases since the last stored result, counted when taken, so that a crash counts. */
  @Column({ type: 'integer', default: 0 })
  attempts: number;

  @Column({ type: 'integer', default: 0 })
  completed: number;

  @Column({ type: 'integer', default: 0 })
  failed: number;
}
