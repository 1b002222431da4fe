import type { INestMicroservice } from '@nestjs/common';
import type { MicroserviceOptions } from '@nestjs/microservices';
import { allContracts, type Contract, type QueueSpec, type Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { findHandlerProblems } from './boot-check';
import type { AnsweringOptions } from './call-receiver';
import { QueueServer } from './queue-server';

/** The parts of an INestApplication that `consumeQueues` uses. */
export interface HybridApp {
  connectMicroservice(options: MicroserviceOptions): Pick<INestMicroservice, 'listen'>;
}

export interface ConsumeQueuesOptions {
  readonly amqpUrl: Secret;
  /** The queues whose contracts this process owns. */
  readonly queues: readonly QueueSpec[];
  /** How the broker lists our connections; by default the names of the queues. */
  readonly serviceName?: string;
  /** All contracts of the installation; tests pass their own. */
  readonly contracts?: readonly Contract[];
  readonly drainTimeoutMs?: number;
  readonly startTimeoutMs?: number;
  /** Required for an app that answers calls. */
  readonly answering?: AnsweringOptions;
}

export interface QueueConsumption {
  /**
   * Accepts no more messages, waits up to 22 s for running handlers, returns the rest to the broker and closes the
   * connections. Closing the app does the same.
   */
  drain(): Promise<void>;
  /** Whether messages of every queue are being taken: for readiness. */
  isConnected(): boolean;
}

/** An app has 25 s to shut down; the remaining time is for returning messages and closing the connections. */
const DRAIN_TIMEOUT_MS = 22_000;
const START_TIMEOUT_MS = 30_000;

/**
 * Checks that each contract of the queues has exactly one handler in this app, declares the queues, and
 * starts consuming. Resolves once messages are being taken, or after 30 s without a broker, which is then
 * waited for in the background.
 *
 * @throws AppError `server` that names every missing, doubled or misplaced handler, or the refusal of the
 *   broker when a queue exists with other arguments
 */
export async function consumeQueues(app: HybridApp, options: ConsumeQueuesOptions): Promise<QueueConsumption> {
  const contracts = options.contracts ?? allContracts;
  const { amqpUrl, queues } = options;
  const server = new QueueServer({
    amqpUrl,
    queues,
    contracts,
    serviceName: options.serviceName ?? queues.map(({ name }) => name).join('+'),
    drainTimeoutMs: options.drainTimeoutMs ?? DRAIN_TIMEOUT_MS,
    startTimeoutMs: options.startTimeoutMs ?? START_TIMEOUT_MS,
    answering: options.answering,
  });
  const microservice = app.connectMicroservice({ strategy: server });
  const problems = findHandlerProblems(queues, contracts, server.registered);
  if (problems.length > 0) {
    const text = `message handlers are not as they must be: ${problems.join('; ')}`;
    throw new AppError('server', text, { internal: text });
  }
  await microservice.listen();
  return { drain: () => server.drain(), isConnected: () => server.isConnected() };
}
