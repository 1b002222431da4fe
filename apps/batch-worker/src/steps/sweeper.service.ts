import { Injectable, Logger } from '@nestjs/common';
import {
  BatchEndingsRepository,
  BatchesRepository,
  BatchIntakeRepository,
  BatchRemovalRepository,
  SingleRunner,
  StaleUploadsRepository,
} from '@libs/persistence';
import { EachAlone, PeriodicTask } from '@libs/platform';
import { BatchRunnerService } from './batch-runner.service';

const SWEEP_MS = 5_000;
const FORGET_MS = 60_000;
const STALLED_PER_SWEEP = 100;
const UPLOADS_PER_SWEEP = 10;
/** Removals per sweep. They run concurrently, because a provider may be slow. */
const REMOVALS_PER_SWEEP = 8;
const EXPIRED_PER_SWEEP = 100;
/** Statements per run; a backlog is removed in several runs. */
const FORGETS_PER_SWEEP = 20;

/**
 * Finds batches whose message was lost or whose worker died, batches whose window is over, batches that must be deleted
 * at their provider, and uploads whose gateway died. It runs the same steps as a message would, so either may come
 * first. Only one worker at a time does this. A batch that throws is skipped for a while, and the others continue.
 */
@Injectable()
export class SweeperService {
  private readonly logger = new Logger(SweeperService.name);
  private readonly stalled = new EachAlone('batches.advance', this.logger);
  private readonly expired = new EachAlone('batches.expire', this.logger);
  private readonly uploads = new EachAlone('batches.discard', this.logger);
  private readonly removals = new EachAlone('batches.remove-upstream', this.logger);
  private readonly tasks: readonly PeriodicTask[];

  constructor(
    private readonly batches: BatchesRepository,
    private readonly intake: BatchIntakeRepository,
    private readonly endings: BatchEndingsRepository,
    private readonly runner: BatchRunnerService,
    private readonly staleUploads: StaleUploadsRepository,
    private readonly removal: BatchRemovalRepository,
    once: SingleRunner,
  ) {
    const everyMs = SWEEP_MS;
    this.tasks = [
      // Runs in each worker, because a worker only runs what its own lane finds.
      new PeriodicTask({ name: 'batches.wake', everyMs }, async () => this.runner.wakeLane()),
      new PeriodicTask({ name: 'batches.expire', everyMs, runner: once }, () => this.endExpired()),
      new PeriodicTask({ name: 'batches.advance', everyMs, runner: once }, () => this.advanceStalled()),
      new PeriodicTask({ name: 'batches.discard', everyMs, runner: once }, () => this.discardUploads()),
      new PeriodicTask({ name: 'batches.remove-upstream', everyMs, runner: once }, () => this.removeUpstream()),
      new PeriodicTask({ name: 'batches.forget-keys', everyMs: FORGET_MS, runner: once }, () => this.forgetKeys()),
    ];
  }

  start(): void {
    for (const task of this.tasks) task.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.tasks.map((task) => task.stop()));
  }

  /** Runs each task once. Never throws. */
  async sweep(): Promise<void> {
    for (const task of this.tasks) await task.runOnce();
  }

  private async endExpired(): Promise<void> {
    const due = await this.endings.findExpired(EXPIRED_PER_SWEEP, this.expired.restingIds());
    await this.expired.forEach(
      due,
      (id) => id,
      async (id) => {
        // The batch stopper ends it within a second.
        if (await this.endings.expire(id)) this.logger.log(`batch ${id} has had its 24 hours`);
      },
    );
  }

  private async advanceStalled(): Promise<void> {
    const stalled = await this.batches.findStalled(STALLED_PER_SWEEP, this.stalled.restingIds());
    await this.stalled.forEach(
      stalled,
      ({ id }) => id,
      async ({ id, status }) => {
        this.logger.log(`batch ${id} stood still at ${status}; taking it up`);
        await this.runner.advance(id);
      },
      ({ organizationId }) => organizationId,
    );
  }

  private async discardUploads(): Promise<void> {
    const stale = await this.staleUploads.find(UPLOADS_PER_SWEEP, this.uploads.restingIds());
    const discarded = await this.uploads.forEach(
      stale,
      ({ id }) => id,
      (key) => this.staleUploads.discard(key),
    );
    if (discarded > 0) this.logger.log(`${discarded} uploads whose gateway died were discarded`);
  }

  private async removeUpstream(): Promise<void> {
    const ids = await this.removal.findRequested(REMOVALS_PER_SWEEP, this.removals.restingIds());
    await Promise.all(ids.map((id) => this.removals.run(id, () => this.runner.advance(id))));
  }

  private async forgetKeys(): Promise<void> {
    for (let statement = 0; statement < FORGETS_PER_SWEEP; statement += 1) {
      if ((await this.intake.forgetOldKeys()) === 0) return;
    }
  }
}
