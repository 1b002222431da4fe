import { Injectable, Logger } from '@nestjs/common';
import { VideoEndsRepository, VideoIntakeRepository } from '@libs/persistence';
import { BlobStore, PeriodicTask } from '@libs/platform';

const SWEEP_MS = 30_000;
const PER_SWEEP = 100;

/** What time alone brings: copies that are kept no longer, and old idempotency keys. */
@Injectable()
export class VideoSweeperService {
  private readonly logger = new Logger(VideoSweeperService.name);
  private readonly task = new PeriodicTask({ everyMs: SWEEP_MS }, () => this.sweep());

  constructor(
    private readonly ends: VideoEndsRepository,
    private readonly intake: VideoIntakeRepository,
    private readonly blobs: BlobStore,
  ) {}

  start(): void {
    this.task.start();
  }

  stop(): Promise<void> {
    return this.task.stop();
  }

  /** One pass. A failure is logged and the next pass tries again. */
  async sweep(): Promise<void> {
    try {
      await this.intake.forgetOldKeys();
      for (const { id, outputs } of await this.ends.findOutdated(PER_SWEEP)) {
        for (const { key } of outputs) await this.blobs.remove(key);
        await this.ends.forgetOutputs(id);
      }
    } catch (error) {
      this.logger.warn(`a sweep failed: ${error instanceof Error ? error.message : 'unknown error'}`);
    }
  }
}
