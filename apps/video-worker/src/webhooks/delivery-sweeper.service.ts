import { Injectable, Logger } from '@nestjs/common';
import { WebhookDeliveriesRepository } from '@libs/persistence';
import { gauge, PeriodicTask } from '@libs/platform';
import { VideoWorkerEnv } from '../video-worker.env';
import { DeliveryLaneService } from './delivery-lane.service';
import { ReceiverBreakers } from './receiver-breakers';

/** Shorter than the shortest wait between two attempts. */
const SWEEP_MS = 1_000;
const SWEEPS_PER_TIDYING = 30;

const pending = gauge({ name: 'sluice_webhooks_pending', help: 'Events that are neither delivered nor given up' });
const openBreakers = gauge({
  name: 'sluice_webhook_breakers_open',
  help: 'Callback URLs that this process leaves alone, because they keep failing',
});

/**
 * Brings what no message brings: attempts whose time has come, events whose nudge was lost or whose worker died. Now
 * and then it counts what waits and deletes what ended long ago.
 */
@Injectable()
export class DeliverySweeperService {
  private readonly logger = new Logger(DeliverySweeperService.name);
  private readonly task = new PeriodicTask({ everyMs: SWEEP_MS }, () => this.sweep());
  private sweeps = 0;

  constructor(
    private readonly deliveries: WebhookDeliveriesRepository,
    private readonly lane: DeliveryLaneService,
    private readonly breakers: ReceiverBreakers,
    private readonly env: VideoWorkerEnv,
  ) {}

  start(): void {
    this.task.start();
  }

  stop(): Promise<void> {
    return this.task.stop();
  }

  private async sweep(): Promise<void> {
    this.lane.wake();
    openBreakers.set(this.breakers.openCount);
    const isTimeToTidy = this.sweeps % SWEEPS_PER_TIDYING === 0;
    this.sweeps += 1;
    if (isTimeToTidy) await this.tidy();
  }

  private async tidy(): Promise<void> {
    try {
      pending.set(await this.deliveries.countPending());
      await this.deliveries.purgeEnded(this.env.WEBHOOK_RETENTION_DAYS);
    } catch (error) {
      this.logger.warn(`events could not be tidied: ${error instanceof Error ? error.message : 'unknown error'}`);
    }
  }
}
