import { Injectable } from '@nestjs/common';
import { SingleRunner, WebhookDeliveriesRepository } from '@libs/persistence';
import { gauge, PeriodicTask } from '@libs/platform';
import { VideoWorkerEnv } from '../video-worker.env';
import { DeliveryLaneService } from './delivery-lane.service';
import { ReceiverBreakers } from './receiver-breakers';

/** Shorter than the shortest wait between two attempts. */
const SWEEP_MS = 1_000;
const TIDY_MS = 30_000;

const pending = gauge({ name: 'sluice_webhooks_pending', help: 'Events that are neither delivered nor given up' });
const openBreakers = gauge({
  name: 'sluice_webhook_breakers_open',
  help: 'Callback URLs that this process leaves alone, because they keep failing',
});

/**
 * Finds what no message announces: attempts that are due, and events whose message was lost or whose worker died. From
 * time to time it counts the waiting events, and one worker at a time deletes those that ended long ago.
 */
@Injectable()
export class DeliverySweeperService {
  private readonly tasks: readonly PeriodicTask[];

  constructor(
    private readonly deliveries: WebhookDeliveriesRepository,
    private readonly lane: DeliveryLaneService,
    private readonly breakers: ReceiverBreakers,
    private readonly env: VideoWorkerEnv,
    runner: SingleRunner,
  ) {
    this.tasks = [
      new PeriodicTask({ name: 'webhooks.wake', everyMs: SWEEP_MS }, () => this.wake()),
      // Each worker shows the number: one that did not count would show an old one.
      new PeriodicTask({ name: 'webhooks.count', everyMs: TIDY_MS, isImmediate: true }, () => this.count()),
      new PeriodicTask({ name: 'webhooks.purge', everyMs: TIDY_MS, runner }, () => this.purge()),
    ];
  }

  start(): void {
    for (const task of this.tasks) task.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.tasks.map((task) => task.stop()));
  }

  private async wake(): Promise<void> {
    this.lane.wake();
    openBreakers.set(this.breakers.openCount);
  }

  private async count(): Promise<void> {
    pending.set(await this.deliveries.countPending());
  }

  private async purge(): Promise<void> {
    await this.deliveries.purgeEnded(this.env.WEBHOOK_RETENTION_DAYS);
  }
}
