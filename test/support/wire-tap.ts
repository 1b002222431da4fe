import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** Passes bytes on between clients and a service, and keeps all of them, each direction of a connection apart. */
export class WireTap {
  readonly #directions: Buffer[][] = [];
  readonly #sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    /** Where clients connect instead. */
    readonly url: string,
  ) {}

  static async start(serviceUrl: string): Promise<WireTap> {
    const target = new URL(serviceUrl);
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = new URL(serviceUrl);
    url.hostname = '127.0.0.1';
    url.port = String((server.address() as AddressInfo).port);
    const tap = new WireTap(server, url.href);
    const defaultPort = { 'amqp:': 5_672, 'redis:': 6_379 }[target.protocol] ?? 5_432;
    server.on('connection', (client) => {
      const upstream = connect(Number(target.port || defaultPort), target.hostname);
      tap.#join(client, upstream);
      tap.#join(upstream, client);
    });
    return tap;
  }

  /** Everything that passed so far. */
  get bytes(): Buffer {
    return Buffer.concat(this.#directions.flat());
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  #join(from: Socket, to: Socket): void {
    const passed: Buffer[] = [];
    this.#directions.push(passed);
    this.#sockets.add(from);
    from.on('data', (chunk: Buffer) => passed.push(chunk));
    from.pipe(to);
    from.on('error', () => to.destroy());
    from.on('close', () => {
      this.#sockets.delete(from);
      to.destroy();
    });
  }
}
