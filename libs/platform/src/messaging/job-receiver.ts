import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import type { JobContract, Contract, QueueSpec } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { failpoint } from '@libs/failpoints';
import { tracing } from '../telemetry/tracing';
import { validateInstance } from '../validation/validate';
import { describeFailure } from './broker-failure';
import type { Invoke } from './call-receiver';
import type { ConfirmingPublisher } from './confirming-publisher';
import type { Delivery } from './delivery';
import { decodePacket } from './message-codec';
import { jobSeconds, jobsTotal } from './messaging-metrics';
import { pause } from './pause';
import { deadQueueName, retryQueueName } from './topology';

interface Job {
  readonly contract: JobContract<object>;
  readonly payload: object;
}

/** How often a job's handler has thrown before. */
export const ATTEMPT_HEADER = 'x-attempt';
/** In the dead queue: the code of the last error. */
export const ERROR_CODE_HEADER = 'x-error-code';

const UNKNOWN = 'unknown';
/** The broker counts redeliveries, so a job that can go nowhere must not use them up in a moment. */
const REQUEUE_WAIT_MS = 1_000;

/**
 * Works off the jobs of one queue. A job leaves the queue in one of three ways, and only when the next
 * holder has it for certain: done (its handler resolved), to a retry tier or the dead queue (confirmed
 * there), or back to the broker. A crash between the confirm and the ack makes a second copy, never a loss.
 */
export class JobReceiver {
  readonly #logger = new Logger(JobReceiver.name);

  constructor(
    private readonly queue: QueueSpec,
    private readonly contracts: ReadonlyMap<string, Contract>,
    private readonly invoke: Invoke,
    private readonly publisher: Pick<ConfirmingPublisher, 'publish'>,
    private readonly stopping: AbortSignal,
  ) {}

  async receive(delivery: Delivery): Promise<void> {
    const job = this.#read(delivery);
    if (job instanceof AppError) {
      await this.#moveOn(delivery, job, { name: UNKNOWN, target: deadQueueName(this.queue) });
      return;
    }
    const { name } = job.contract;
    const stopTimer = jobSeconds.startTimer({ contract: name });
    const failure = await this.#run(job);
    stopTimer();
    if (failure) {
      const waitMs = this.queue.retryTiersMs?.[attemptsOf(delivery)];
      const target = waitMs === undefined ? deadQueueName(this.queue) : retryQueueName(this.queue, waitMs);
      await this.#moveOn(delivery, failure, { name, target });
    } else {
      failpoint('job-handled');
      delivery.ack();
      jobsTotal.inc({ contract: name, outcome: 'done' });
    }
  }

  #read(delivery: Delivery): Job | AppError {
    try {
      const packet = decodePacket(delivery.message.content);
      const contract = this.contracts.get(packet.pattern);
      if (contract?.kind !== 'job') {
        throw new AppError('invalid_request', 'Unknown job', {
          internal: 'a job of a contract that is not known here',
        });
      }
      return { contract, payload: validateInstance(contract.payload, packet.data) };
    } catch (thrown) {
      return AppError.from(thrown);
    }
  }

  async #run(job: Job): Promise<AppError | undefined> {
    const startMs = tracing() === null ? 0 : Date.now();
    const failure = await this.#invoke(job);
    if (startMs > 0) this.#trace(job, startMs, failure);
    return failure;
  }

  #trace({ contract, payload }: Job, startMs: number, failure: AppError | undefined): void {
    const { traceparent, batchId, videoId } = payload as Readonly<Record<string, string | undefined>>;
    const attributes = {
      'messaging.system': 'rabbitmq',
      'messaging.operation.type': 'process',
      'messaging.operation.name': contract.name,
      'messaging.destination.name': this.queue.name,
      'sluice.batch.id': batchId,
      'sluice.video.id': videoId,
    };
    const span = {
      name: `process ${contract.name}`,
      kind: 'consumer',
      startMs,
      endMs: Date.now(),
      attributes,
    } as const;
    tracing()?.record({ ...span, errorType: failure?.code }, traceparent);
  }

  async #invoke({ contract, payload }: Job): Promise<AppError | undefined> {
    try {
      await this.invoke(contract, payload);
      return undefined;
    } catch (thrown) {
      const error = AppError.from(thrown);
      const { stack } = thrown instanceof Error ? thrown : error;
      this.#logger.error(`${contract.name} failed: ${describeFailure(error)}`, stack);
      return error;
    }
  }

  async #moveOn(delivery: Delivery, failure: AppError, to: { name: string; target: string }): Promise<void> {
    // The broker has it again already, so another copy would be one too many.
    if (delivery.isSettled) return;
    const isDead = to.target === deadQueueName(this.queue);
    if (isDead) this.#logger.error(`a job (${to.name}) of ${this.queue.name} is dead: ${describeFailure(failure)}`);
    const { messageId } = delivery.message.properties as { messageId?: string };
    try {
      await this.publisher.publish({
        queue: this.queue,
        routingKey: to.target,
        content: delivery.message.content,
        messageId: messageId ?? randomUUID(),
        headers: { [ATTEMPT_HEADER]: attemptsOf(delivery) + 1, ...(isDead && { [ERROR_CODE_HEADER]: failure.code }) },
      });
      delivery.ack();
      jobsTotal.inc({ contract: to.name, outcome: isDead ? 'dead' : 'retry' });
    } catch (error) {
      this.#logger.error(`a job (${to.name}) goes back to ${this.queue.name}: ${describeFailure(error)}`);
      await pause(REQUEUE_WAIT_MS, this.stopping);
      delivery.requeue();
      jobsTotal.inc({ contract: to.name, outcome: 'requeued' });
    }
  }
}

function attemptsOf(delivery: Delivery): number {
  const value: unknown = delivery.message.properties.headers?.[ATTEMPT_HEADER];
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : 0;
}
