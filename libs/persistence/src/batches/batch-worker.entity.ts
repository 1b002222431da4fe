import { Column, Entity, PrimaryColumn } from 'typeorm';

/** How fast a worker's lane runs the lines of one quota, as sums that are halved each busy minute. */
export interface LaneSpeed {
  /** Calls that it may make at once. */
  readonly slots: number;
  /** Lines that came to a result, and for how long their calls held slots, those that were repeated included. */
  readonly lines: number;
  readonly call_ms: number;
  /** Lines that came to a result while more waited for a slot, and for how long that was so. */
  readonly backlog_lines: number;
  readonly backlog_ms: number;
}

/** A process that runs batches, as it tells of itself every few seconds. */
@Entity({ name: 'batch_workers' })
export class BatchWorkerEntity {
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'batch_workers_pkey' })
  id: string;

  @Column({ type: 'integer' })
  concurrency: number;

  /** By quota. */
  @Column({ type: 'jsonb' })
  lanes: Readonly<Record<string, LaneSpeed>>;

  @Column({ type: 'timestamptz', name: 'seen_at', default: () => 'now()' })
  seenAt: Date;
}
