import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** As the apps name the connections by which they hear events; it is in the first frames of a connection. */
const EVENTS = / events[^a-z]/;
const FIRST_BYTES = 4_096;

/** A proxy between apps and RabbitMQ that can cut or hold up only the connections on which apps receive events. */
export class EventCutter {
  readonly #events = new Set<Socket>();
  readonly #sockets = new Set<Socket>();
  #cuts = 0;

  private constructor(
    private readonly server: Server,
    /** Where apps connect instead. */
    readonly url: string,
  ) {}

  static async start(brokerUrl: string): Promise<EventCutter> {
    const target = new URL(brokerUrl);
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = new URL(brokerUrl);
    url.hostname = '127.0.0.1';
    url.port = String((server.address() as AddressInfo).port);
    const cutter = new EventCutter(server, url.href);
    server.on('connection', (client) => {
      const upstream = connect(Number(target.port || 5_672), target.hostname);
      cutter.#join(client, upstream);
      cutter.#join(upstream, client);
      cutter.#recognize(client, upstream);
    });
    return cutter;
  }

  /** Connections by which apps hear events now. */
  get listening(): number {
    return this.#events.size;
  }

  /** How many connections were cut. */
  get cuts(): number {
    return this.#cuts;
  }

  cut(): void {
    this.#cuts += this.#events.size;
    for (const socket of this.#events) socket.resetAndDestroy();
  }

  /** They stay open and nothing passes, until they are cut. */
  hold(): void {
    for (const socket of this.#events) socket.pause();
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  /** @param upstream what comes from there is what is held up */
  #recognize(client: Socket, upstream: Socket): void {
    let first = '';
    const look = (chunk: Buffer): void => {
      first += chunk.toString('latin1');
      const isEvents = EVENTS.test(first);
      if (isEvents) {
        this.#events.add(upstream);
        upstream.on('close', () => this.#events.delete(upstream));
      }
      if (isEvents || first.length > FIRST_BYTES) client.off('data', look);
    };
    client.on('data', look);
  }

  #join(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    from.pipe(to);
    from.on('error', () => to.resetAndDestroy());
    from.on('close', () => {
      this.#sockets.delete(from);
      to.destroy();
    });
  }
}
