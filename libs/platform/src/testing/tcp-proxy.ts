import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

const DEFAULT_PORTS: Readonly<Record<string, number>> = {
  'amqp:': 5_672,
  'postgres:': 5_432,
  'postgresql:': 5_432,
  'redis:': 6_379,
};

/** A TCP proxy whose connections a test can cut, hold up or refuse. */
export class TcpProxy {
  readonly #sockets = new Set<Socket>();
  #accepting = true;
  #held = false;

  private constructor(
    private readonly server: Server,
    private readonly target: { readonly host: string; readonly port: number },
  ) {
    server.on('connection', (client) => this.#onConnection(client));
  }

  /** Listens on a free port of the loopback address, before the server that `url` names. */
  static async start(url: string): Promise<TcpProxy> {
    const { protocol, hostname, port } = new URL(url);
    const server = createServer();
    const proxy = new TcpProxy(server, { host: hostname, port: Number(port || DEFAULT_PORTS[protocol]) });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** The same URL, through this proxy. */
  through(url: string): string {
    const proxied = new URL(url);
    proxied.hostname = '127.0.0.1';
    proxied.port = String(this.port);
    return proxied.href;
  }

  /** Resets every connection; new ones are accepted. */
  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Resets every connection, and each new one until `accept`. */
  refuse(): void {
    this.#accepting = false;
    this.cut();
  }

  accept(): void {
    this.#accepting = true;
  }

  /** Connections stay open and nothing passes, as when the peer's machine has gone silent. */
  hold(): void {
    this.#held = true;
    for (const socket of this.#sockets) socket.pause();
  }

  /** What was held up passes. */
  release(): void {
    this.#held = false;
    for (const socket of this.#sockets) socket.resume();
  }

  async close(): Promise<void> {
    this.cut();
    this.server.close();
    await once(this.server, 'close');
  }

  #onConnection(client: Socket): void {
    if (!this.#accepting) {
      client.on('error', () => client.destroy());
      client.resetAndDestroy();
      return;
    }
    const upstream = connect(this.target);
    this.#join(client, upstream);
    this.#join(upstream, client);
  }

  #join(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    from.pipe(to);
    if (this.#held) from.pause();
    // A reset on one side is a reset on the other; both ends of a test see what a broken network shows.
    from.on('error', () => to.resetAndDestroy());
    from.on('close', () => {
      this.#sockets.delete(from);
      to.destroy();
    });
  }
}
