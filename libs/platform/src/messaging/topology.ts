import { setTimeout as delay } from 'node:timers/promises';
import type { Channel, ChannelModel, Replies } from 'amqplib';
import type { QueueSpec } from '@libs/contracts';

/**
 * How each queue of the house is declared. Every argument is set explicitly, since the defaults of the
 * broker differ between its versions, and both ends of a queue declare it from here.
 */
export interface QueueDeclaration {
  readonly name: string;
  /** The exchange of its messages; the queue's name is the routing key. */
  readonly exchange: string;
  readonly durable: true;
  readonly arguments: Readonly<Record<string, string | number>>;
}

const EXCHANGE = { durable: true, autoDelete: false } as const;
const DEFAULT_DELIVERY_LIMIT = 5;
const REPLICAS = 3;
const LIFE_PROBES = 3;
const LIFE_PROBE_INTERVAL_MS = 500;
const MAX_CALLS = 10_000;
/** Above this a publish is refused and its outbox row waits; in a dead queue, the oldest message is dropped. */
const MAX_JOBS = 100_000;

/** Returns the exchange of a queue: one for all calls of an owner, or one for each job queue. */
export function exchangeOf({ kind, owner, name }: QueueSpec): string {
  return kind === 'call' ? `${owner}.calls` : name;
}

function deadQueueName(spec: QueueSpec): string {
  return `${spec.name}.dead`;
}

/** The queue itself and, before it for jobs, its dead queue. */
export function queueDeclarations(spec: QueueSpec): readonly QueueDeclaration[] {
  return spec.kind === 'call' ? [callQueue(spec)] : [deadQueue(spec), jobQueue(spec)];
}

/**
 * Declares what is missing of a queue and its exchange. Returns the number of consumers of the queue.
 *
 * @throws when the broker refuses, e.g. 406 for a queue that exists with other arguments
 */
export async function declareTopology(model: ChannelModel, spec: QueueSpec): Promise<number> {
  return onOwnChannel(model, async (channel) => {
    let consumers = 0;
    for (const declaration of queueDeclarations(spec)) consumers = await declare(channel, declaration);
    return consumers;
  });
}

/**
 * Deletes and redeclares a queue that the broker lists but cannot serve, which can happen to one declared shortly
 * before the broker died. Its messages are lost, which is acceptable because jobs are only notifications.
 *
 * A queue that shows a message or a consumer works and is not touched. A broken one shows neither, but sometimes a busy
 * one does too, hence several checks. The broker itself refuses to delete a replicated queue whose other members may
 * come back.
 * @returns whether the queue was replaced
 */
export async function replaceUnusableQueue(model: ChannelModel, declaration: QueueDeclaration): Promise<boolean> {
  for (let probe = 0; probe < LIFE_PROBES; probe += 1) {
    if (await showsLife(model, declaration.name)) return false;
    await delay(LIFE_PROBE_INTERVAL_MS);
  }
  await onOwnChannel(model, async (channel) => {
    await channel.deleteQueue(declaration.name);
    await declare(channel, declaration);
  });
  return true;
}

async function showsLife(model: ChannelModel, queue: string): Promise<boolean> {
  const description = await describeQueue(model, queue);
  return description !== undefined && (description.messageCount > 0 || description.consumerCount > 0);
}

/** Returns what the broker reports about a queue; undefined if it is missing, down, or the broker cannot be asked. */
export async function describeQueue(model: ChannelModel, queue: string): Promise<Replies.AssertQueue | undefined> {
  try {
    return await onOwnChannel(model, (channel) => channel.checkQueue(queue));
  } catch {
    return undefined;
  }
}

/** Whether there is an exchange; false, too, while the broker cannot be asked. It takes no right on the exchange. */
export async function exchangeExists(model: ChannelModel, exchange: string): Promise<boolean> {
  try {
    await onOwnChannel(model, (channel) => channel.checkExchange(exchange));
    return true;
  } catch {
    return false;
  }
}

/** A queue for the answers to one process, which ends with its channel. */
export async function declareReplyQueue(channel: Channel, exchange: string, name: string): Promise<void> {
  await channel.assertQueue(name, {
    exclusive: true,
    autoDelete: true,
    durable: false,
    arguments: { 'x-queue-type': 'classic', 'x-max-length': MAX_CALLS, 'x-overflow': 'drop-head' },
  });
  await bind(channel, exchange, name);
}

/** Declares the exchange of answers and the binding of a queue that exists, where they are missing. */
export async function bindReplyQueue(model: ChannelModel, exchange: string, name: string): Promise<void> {
  await onOwnChannel(model, (channel) => bind(channel, exchange, name));
}

async function declare(channel: Channel, { name, exchange, ...options }: QueueDeclaration): Promise<number> {
  const { consumerCount } = await channel.assertQueue(name, options);
  await bind(channel, exchange, name);
  return consumerCount;
}

async function bind(channel: Channel, exchange: string, queue: string): Promise<void> {
  await channel.assertExchange(exchange, 'direct', EXCHANGE);
  await channel.bindQueue(queue, exchange, queue);
}

/** Runs a declaration on a separate channel, because a refused one closes its channel. */
async function onOwnChannel<T>(model: ChannelModel, use: (channel: Channel) => Promise<T>): Promise<T> {
  const channel = await model.createChannel();
  let open = true;
  // The operation that closed the channel rejects with the reason; the event only reports the closing.
  channel.on('error', () => (open = false));
  channel.on('close', () => (open = false));
  const result = await use(channel);
  if (open) await channel.close();
  return result;
}

function callQueue(spec: QueueSpec): QueueDeclaration {
  return {
    name: spec.name,
    exchange: exchangeOf(spec),
    durable: true,
    arguments: { 'x-queue-type': 'classic', 'x-max-length': MAX_CALLS, 'x-overflow': 'reject-publish' },
  };
}

/** At-least-once dead-lettering needs `reject-publish`: a message is removed only once the dead queue has it. */
function jobQueue(spec: QueueSpec): QueueDeclaration {
  return {
    name: spec.name,
    exchange: exchangeOf(spec),
    durable: true,
    arguments: {
      ...replicated,
      'x-delivery-limit': spec.deliveryLimit ?? DEFAULT_DELIVERY_LIMIT,
      'x-max-length': MAX_JOBS,
      'x-overflow': 'reject-publish',
      'x-dead-letter-exchange': exchangeOf(spec),
      'x-dead-letter-routing-key': deadQueueName(spec),
      'x-dead-letter-strategy': 'at-least-once',
    },
  };
}

function deadQueue(spec: QueueSpec): QueueDeclaration {
  return {
    name: deadQueueName(spec),
    exchange: exchangeOf(spec),
    durable: true,
    arguments: { ...replicated, 'x-max-length': MAX_JOBS, 'x-overflow': 'drop-head' },
  };
}

const replicated = { 'x-queue-type': 'quorum', 'x-quorum-initial-group-size': REPLICAS } as const;
