import { Injectable, Logger } from '@nestjs/common';
import { SingleRunner, VideoEndsRepository, VideoIntakeRepository } from '@libs/persistence';
import { BlobStore, EachAlone, PeriodicTask } from '@libs/platform';

const SWEEP_MS = 30_000;
const PER_SWEEP = 100;
const FORGETS_PER_SWEEP = 20;

/** Deletes expired video copies and old idempotency keys. One worker at a time does it. */
@Injectable()
export class VideoSweeperService {
  private readonly outdated = new EachAlone('videos.remove-outputs', new Logger(VideoSweeperService.name));
  private readonly tasks: readonly PeriodicTask[];

  constructor(
    private readonly ends: VideoEndsRepository,
    private readonly intake: VideoIntakeRepository,
    private readonly blobs: BlobStore,
    runner: SingleRunner,
  ) {
    this.tasks = [
      new PeriodicTask({ name: 'videos.remove-outputs', everyMs: SWEEP_MS, runner }, () => this.removeOutputs()),
      new PeriodicTask({ name: 'videos.forget-keys', everyMs: SWEEP_MS, runner }, () => this.forgetKeys()),
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

  private async removeOutputs(): Promise<void> {
    await this.outdated.forEach(
      await this.ends.findOutdated(PER_SWEEP, this.outdated.restingIds()),
      ({ id }) => id,
      async ({ id, outputs }) => {
        for (const { key } of outputs) await this.blobs.remove(key);
        await this.ends.forgetOutputs(id);
      },
    );
  }

  private async forgetKeys(): Promise<void> {
    for (let statement = 0; statement < FORGETS_PER_SWEEP; statement += 1) {
      if ((await this.intake.forgetOldKeys()) === 0) return;
    }
  }
}
