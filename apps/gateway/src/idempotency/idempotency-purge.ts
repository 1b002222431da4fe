import type { LoggerService } from '@nestjs/common';
import { PeriodicTask } from '@libs/platform';
import type { IdempotencyKeysRepository } from './idempotency-keys.repository';

const EVERY_MS = 600_000;
const MOST_AT_ONCE = 1_000;

/** Deletes keys whose 24 hours are over. Any number of processes may do so at once. */
export class IdempotencyPurge {
  private readonly task = new PeriodicTask({ everyMs: EVERY_MS, isImmediate: true }, () => this.purge());

  constructor(
    private readonly keys: Pick<IdempotencyKeysRepository, 'purge'>,
    private readonly logger: LoggerService,
  ) {}

  start(): void {
    this.task.start();
  }

  stop(): Promise<void> {
    return this.task.stop();
  }

  async purge(): Promise<void> {
    try {
      let deleted = MOST_AT_ONCE;
      while (deleted === MOST_AT_ONCE && !this.task.isStopped) deleted = await this.keys.purge(MOST_AT_ONCE);
    } catch (error) {
      // The next purge finds the same rows, and nobody is answered from them any more.
      this.logger.warn('Old idempotency keys could not be deleted', { err: error });
    }
  }
}
