import { Logger } from '@nestjs/common';
import type { JobContract, Contract, QueueSpec } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { failpoint } from '@libs/failpoints';
import { tracing } from '../telemetry/tracing';
import { validateInstance } from '../validation/validate';
import { describeFailure } from './broker-failure';
import type { Invoke } from './call-receiver';
import type { Delivery } from './delivery';
import { decodeJob } from './message-codec';
import { jobSeconds, jobsTotal } from './messaging-metrics';

interface Job {
  readonly contract: JobContract<object>;
  readonly payload: object;
}

const UNREADABLE = 'unknown';

/**
 * Processes the jobs of one queue. A job is only a notification: a row says what is due, and a sweeper looks for such
 * rows every few seconds. So a job whose handler threw is logged and dropped; the sweeper repeats it. A message that is
 * not a job of this queue goes to the dead queue, and so does one whose consumers died repeatedly: the broker counts
 * its deliveries.
 */
export class JobReceiver {
  readonly #logger = new Logger(JobReceiver.name);

  constructor(
    private readonly queue: QueueSpec,
    private readonly contracts: ReadonlyMap<string, Contract>,
    private readonly invoke: Invoke,
  ) {}

  async receive(delivery: Delivery): Promise<void> {
    const job = this.#read(delivery);
    if (job instanceof AppError) {
      this.#logger.error(`a message in ${this.queue.name} is no job: ${describeFailure(job)}`);
      delivery.reject();
      jobsTotal.inc({ contract: UNREADABLE, outcome: 'dead' });
      return;
    }
    const { name } = job.contract;
    const stopTimer = jobSeconds.startTimer({ contract: name });
    const failure = await this.#run(job);
    stopTimer();
    failpoint('job-handled');
    delivery.ack();
    jobsTotal.inc({ contract: name, outcome: failure ? 'failed' : 'done' });
  }

  #read(delivery: Delivery): Job | AppError {
    try {
      const packet = decodeJob(delivery.message.content);
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
}
