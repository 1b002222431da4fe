import { PeriodicTask, type TaskRunner } from '@libs/platform';
import type { IdempotencyKeysRepository } from './idempotency-keys.repository';

const EVERY_MS = 600_000;
const MOST_AT_ONCE = 1_000;

/**
 * Deletes idempotency keys after 24 hours; only one process at a time does so. Expired keys are never used for an
 * answer.
 */
export class IdempotencyPurge {
  private readonly task: PeriodicTask;

  constructor(
    private readonly keys: Pick<IdempotencyKeysRepository, 'purge'>,
    runner: TaskRunner,
  ) {
    const name = 'idempotency-keys.purge';
    this.task = new PeriodicTask({ name, everyMs: EVERY_MS, isImmediate: true, runner }, () => this.purgeAll());
  }

  start(): void {
    this.task.start();
  }

  stop(): Promise<void> {
    return this.task.stop();
  }

  /** Runs one pass. Never throws. */
  purge(): Promise<void> {
    return this.task.runOnce();
  }

  private async purgeAll(): Promise<void> {
    let deleted = MOST_AT_ONCE;
    while (deleted === MOST_AT_ONCE && !this.task.isStopped) deleted = await this.keys.purge(MOST_AT_ONCE);
  }
}
