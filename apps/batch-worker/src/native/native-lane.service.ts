import { Injectable, Logger } from '@nestjs/common';
import { Cancellation } from '@libs/inference';
import { NativeBatchesRepository, NativeStoppingRepository, SingleRunner, type NativeBatch } from '@libs/persistence';
import { EachAlone, LeasedWork, PeriodicTask, ProviderPlaces } from '@libs/platform';
import { NativeRunnerService } from './native-runner.service';

const LEASE_MS = 15_000;
const RENEW_MS = 5_000;
const LOOK_MS = 1_000;
const FORGET_MS = 60 * 60_000;
/**
 * Most concurrent steps in this process. By the weights, one provider gets up to 6 of them, and one organization at it
 * up to 4.
 */
const MOST_AT_ONCE = 12;
const WEIGHTS = { account: 0.5, provider: 1 };
const DRAIN_MS = 10_000;

/**
 * Follows orders at providers' batch APIs: claims those that are due, runs the next step of each, and extends its lease
 * meanwhile. A step whose lease was lost is aborted; its writes would change no row anyway.
 */
@Injectable()
export class NativeLaneService {
  private readonly logger = new Logger(NativeLaneService.name);
  private readonly places = new ProviderPlaces(MOST_AT_ONCE, WEIGHTS);
  private readonly cancellations = new Set<Cancellation>();
  private readonly each = new EachAlone('native-orders.step', this.logger);
  private readonly stopping = new EachAlone('native-orders.hurry', this.logger);
  private readonly tasks: readonly PeriodicTask[];
  private readonly work = new LeasedWork<NativeBatch>({
    // After a step that throws, the order waits until its lease and a pause have passed.
    run: (order) => this.each.run(order.reference, () => this.take(order)),
    onEnd: (order) => this.places.give(order),
  });

  constructor(
    private readonly orders: NativeBatchesRepository,
    private readonly runner: NativeRunnerService,
    private readonly stoppingBatches: NativeStoppingRepository,
    once: SingleRunner,
  ) {
    // Randomized, so that not all workers check at the same moment.
    const everyMs = LOOK_MS * (0.75 + Math.random() * 0.5);
    this.tasks = [
      new PeriodicTask({ name: 'native-orders.hurry', everyMs }, () => this.hurry()),
      new PeriodicTask({ name: 'native-orders.claim', everyMs }, () => this.look()),
      new PeriodicTask({ name: 'native-orders.forget', everyMs: FORGET_MS, runner: once }, () =>
        this.orders.forgetOld(),
      ),
    ];
  }

  /** Resolves once batches that are being stopped wait for their orders. */
  async start(): Promise<void> {
    await this.tasks[0]!.runOnce();
    for (const task of this.tasks) task.start();
  }

  /** Claims nothing more, and waits for running steps; a long one is aborted and becomes due again. */
  async drain(): Promise<void> {
    await Promise.all(this.tasks.map((task) => task.stop()));
    await this.work.drain(DRAIN_MS, () => this.cancellations.forEach((one) => one.abort()));
  }

  private async look(): Promise<void> {
    const { free } = this.places;
    if (free === 0) return;
    const claimed = await this.orders.claim(free, LEASE_MS, this.each.restingIds(), this.places.rooms());
    const { taken, left } = this.places.takeEach(claimed);
    for (const order of taken) this.work.begin(order);
    for (const order of left) await this.orders.wait(order, 0);
  }

  private async hurry(): Promise<void> {
    const numbers = await this.stoppingBatches.find(this.stopping.restingIds());
    await this.stopping.forEach(
      numbers,
      (number) => number,
      (number) => this.stoppingBatches.hurry(number),
    );
  }

  private async take(order: NativeBatch): Promise<void> {
    const cancellation = new Cancellation();
    this.cancellations.add(cancellation);
    const renewal = setInterval(() => void this.renew(order, cancellation), RENEW_MS);
    try {
      await this.runner.advance(order, cancellation);
    } finally {
      clearInterval(renewal);
      this.cancellations.delete(cancellation);
    }
  }

  private async renew(order: NativeBatch, cancellation: Cancellation): Promise<void> {
    try {
      if (!(await this.orders.renew(order, LEASE_MS))) cancellation.abort();
    } catch (error) {
      this.logger.warn(`the lease of order ${order.reference} could not be renewed: ${messageOf(error)}`);
    }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown error';
}
