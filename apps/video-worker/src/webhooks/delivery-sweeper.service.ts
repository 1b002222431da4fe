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
 * Brings what no message brings: attempts whose time has come, events whose nudge was lost or whose worker died. Now
 * and then it counts what waits, and one worker of all deletes what ended long ago.
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
