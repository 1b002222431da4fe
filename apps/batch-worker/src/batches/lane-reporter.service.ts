import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { BatchWorkersRepository, SingleRunner } from '@libs/persistence';
import { PeriodicTask } from '@libs/platform';
import { BatchWorkerEnv } from '../batch-worker.env';
import { ManagedLaneService } from './managed-lane.service';

const EVERY_MS = 5_000;
const FORGET_MS = 3_600_000;

/** Reports every few seconds that this process runs and how fast; quotes for new batches use these reports. */
@Injectable()
export class LaneReporterService {
  private readonly id = randomUUID();
  private readonly tasks: readonly PeriodicTask[];

  constructor(
    private readonly env: BatchWorkerEnv,
    private readonly lane: ManagedLaneService,
    private readonly workers: BatchWorkersRepository,
    runner: SingleRunner,
  ) {
    this.tasks = [
      new PeriodicTask({ name: 'batch-workers.report', everyMs: EVERY_MS, isImmediate: true }, () => this.report()),
      new PeriodicTask({ name: 'batch-workers.forget', everyMs: FORGET_MS, runner }, () => this.workers.forgetOld()),
    ];
  }

  start(): void {
    for (const task of this.tasks) task.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.tasks.map((task) => task.stop()));
  }

  private async report(): Promise<void> {
    await this.workers.report(this.id, this.env.BATCH_CONCURRENCY, this.lane.speeds());
  }
}
