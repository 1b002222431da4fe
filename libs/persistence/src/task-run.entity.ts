import { Column, Entity, PrimaryColumn } from 'typeorm';

/** When a task that runs once for the whole installation last ended. */
@Entity({ name: 'task_runs' })
export class TaskRunEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'task_runs_pkey' })
  task: string;

  @Column({ type: 'timestamptz', name: 'ended_at' })
  endedAt: Date;
}
