import { randomUUID } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { BatchWorkersRepository } from '@libs/persistence';
import { PeriodicTask } from '@libs/platform';
import { BatchWorkerEnv } from '../batch-worker.env';
import { ManagedLaneService } from './managed-lane.service';

const EVERY_MS = 5_000;
const FORGET_EVERY = 720;

/** Tells every few seconds that this process runs, and how fast: what quotes of new batches are made from. */
@Injectable()
export class LaneReporterService {
  private readonly logger = new Logger(LaneReporterService.name);
  private readonly id = randomUUID();
  private readonly task = new PeriodicTask({ everyMs: EVERY_MS, isImmediate: true }, () => this.report());
  private reports = 0;

  constructor(
    private readonly env: BatchWorkerEnv,
    private readonly lane: ManagedLaneService,
    private readonly workers: BatchWorkersRepository,
  ) {}

  start(): void {
    this.task.start();
  }

  stop(): Promise<void> {
    return this.task.stop();
  }

  private async report(): Promise<void> {
    try {
      await this.workers.report(this.id, this.env.BATCH_CONCURRENCY, this.lane.speeds());
      if (this.reports % FORGET_EVERY === 0) await this.workers.forgetOld();
      this.reports += 1;
    } catch (error) {
      this.logger.warn(`the speed of this process is not known: ${error instanceof Error ? error.message : 'unknown'}`);
    }
  }
}
