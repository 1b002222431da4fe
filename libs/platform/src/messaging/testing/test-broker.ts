import { randomUUID } from 'node:crypto';
import { connect, type Channel, type ChannelModel, type GetMessage } from 'amqplib';
import { Secret, type QueueSpec } from '@libs/contracts';
import { exchangeOf, queueDeclarations } from '../topology';
import { TcpProxy } from '../../testing/tcp-proxy';

const DEFAULT_URL = 'amqp://guest:guest@127.0.0.1:5672';
const POLL_MS = 20;

type Overrides = Partial<Pick<QueueSpec, 'prefetch' | 'deliveryLimit'>>;

/** The real broker, with queues of the test's own that `close` deletes again. */
export class TestBroker {
  readonly #queues = new Set<string>();
  readonly #exchanges = new Set<string>();

  private constructor(
    readonly url: string,
    readonly model: ChannelModel,
    readonly channel: Channel,
  ) {}

  static async connect(): Promise<TestBroker> {
    const url = process.env.AMQP_URL ?? DEFAULT_URL;
    const model = await connect(url);
    return new TestBroker(url, model, await model.createChannel());
  }

  get secretUrl(): Secret {
    return new Secret(this.url);
  }

  callQueue(overrides: Overrides = {}): QueueSpec {
    return this.#remember({ name: `test-${randomUUID()}`, kind: 'call', owner: 'auth', prefetch: 10, ...overrides });
  }

  jobQueue(overrides: Overrides = {}): QueueSpec {
    const defaults = {
      kind: 'job',
      owner: 'batch-worker',
      prefetch: 4,
      deliveryLimit: 2,
    } as const;
    return this.#remember({ name: `test-${randomUUID()}`, ...defaults, ...overrides });
  }

  /** A proxy to the broker; the caller closes it. */
  async proxy(): Promise<TcpProxy> {
    return TcpProxy.start(this.url);
  }

  /** Messages that wait in a queue. */
  async depth(queue: string): Promise<number> {
    const { messageCount } = await this.channel.checkQueue(queue);
    return messageCount;
  }

  /** The next message of a queue, once there is one; it is taken. */
  async next(queue: string): Promise<GetMessage> {
    let message: GetMessage | undefined;
    await eventually(async () => {
      message = (await this.channel.get(queue, { noAck: true })) || undefined;
      return message !== undefined;
    }, `a message in ${queue}`);
    return message as GetMessage;
  }

  async close(): Promise<void> {
    for (const queue of this.#queues) await this.channel.deleteQueue(queue);
    for (const exchange of this.#exchanges) await this.channel.deleteExchange(exchange);
    await this.model.close();
  }

  #remember(spec: QueueSpec): QueueSpec {
    for (const { name } of queueDeclarations(spec)) this.#queues.add(name);
    // Call queues share the exchange of their owner.
    if (spec.kind === 'job') this.#exchanges.add(exchangeOf(spec));
    return spec;
  }
}

/** Polls until `isSo`, for what the broker does asynchronously without an event. */
export async function eventually(
  isSo: () => boolean | Promise<boolean>,
  what: string,
  withinMs: number = 15_000,
): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`did not happen within ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
