import { Injectable, Logger } from '@nestjs/common';
import { Cancellation } from '@libs/inference';
import { NativeBatchesRepository, type NativeBatch } from '@libs/persistence';
import { NativeRunnerService } from './native-runner.service';

const LEASE_MS = 15_000;
const RENEW_MS = 5_000;
const LOOK_MS = 1_000;
const FORGET_MS = 60 * 60_000;
/** Steps under way in this process. */
const MOST_AT_ONCE = 4;
const DRAIN_MS = 10_000;

/**
 * Follows orders at providers' batch APIs: claims those that are due, takes each one step further, and keeps its
 * lease while the step lasts. A step whose lease was lost is cut off; its writes would touch no row anyway.
 */
@Injectable()
export class NativeLaneService {
  private readonly logger = new Logger(NativeLaneService.name);
  private readonly steps = new Set<Promise<void>>();
  private readonly cancellations = new Set<Cancellation>();
  private timer: NodeJS.Timeout | null = null;
  private forgottenAtMs = 0;
  private isStopping = false;

  constructor(
    private readonly orders: NativeBatchesRepository,
    private readonly runner: NativeRunnerService,
  ) {}

  /** Resolves once batches that are being stopped wait for their orders. */
  async start(): Promise<void> {
    await this.hurry();
    this.lookLater();
  }

  private lookLater(): void {
    // Not all workers at the same moment.
    const delayMs = LOOK_MS * (0.75 + Math.random() * 0.5);
    this.timer = setTimeout(() => {
      void this.look().finally(() => {
        if (!this.isStopping) this.lookLater();
      });
    }, delayMs);
  }

  /** Claims nothing more, and waits for the steps under way; one that takes long is cut off and due again. */
  async drain(): Promise<void> {
    this.isStopping = true;
    if (this.timer !== null) clearTimeout(this.timer);
    const cutOff = setTimeout(() => this.cancellations.forEach((one) => one.abort()), DRAIN_MS);
    await Promise.all(this.steps);
    clearTimeout(cutOff);
  }

  private async look(): Promise<void> {
    await this.hurry();
    const room = MOST_AT_ONCE - this.steps.size;
    if (room === 0) return;
    try {
      for (const order of await this.orders.claim(room, LEASE_MS)) this.begin(order);
      await this.forgetOld();
    } catch (error) {
      this.logger.warn(`orders could not be looked for: ${messageOf(error)}`);
    }
  }

  private async hurry(): Promise<void> {
    try {
      await this.orders.hurryUnwanted();
    } catch (error) {
      this.logger.warn(`orders of stopping batches wait: ${messageOf(error)}`);
    }
  }

  private begin(order: NativeBatch): void {
    const step: Promise<void> = this.take(order)
      .catch((error: unknown) => this.logger.warn(`order ${order.reference} waits for its lease: ${messageOf(error)}`))
      .finally(() => this.steps.delete(step));
    this.steps.add(step);
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

  private async forgetOld(): Promise<void> {
    if (Date.now() - this.forgottenAtMs < FORGET_MS) return;
    this.forgottenAtMs = Date.now();
    await this.orders.forgetOld();
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown error';
}
