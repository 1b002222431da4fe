import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** Replies to a script that a real Redis could give. */
export const GRANTED = '*2\r\n:0\r\n:0\r\n';

const COMMAND = /(?:^|\r\n)\*\d+\r\n\$\d+\r\n(\w+)/g;
const INFO = 'redis_version:7.0.0';

/** A server that speaks the protocol of Redis and answers scripts as a test wants. */
export class HostileRedis {
  readonly #sockets = new Set<Socket>();
  /** Connections so far. */
  connections = 0;
  /** Called instead of an answer to a script. */
  onScript = (socket: Socket): unknown => socket.write(GRANTED);
  /** Called with each new connection. */
  onConnection = (_socket: Socket): unknown => undefined;
  /** Replaces the answers to what clients ask before they are ready. */
  onHandshake: ((socket: Socket) => unknown) | undefined;

  private constructor(private readonly server: Server) {
    server.on('connection', (socket) => {
      this.connections += 1;
      this.#sockets.add(socket.on('error', () => undefined).on('close', () => this.#sockets.delete(socket)));
      socket.on('data', (chunk) => {
        for (const [, name] of chunk.toString('latin1').matchAll(COMMAND)) this.#answer(socket, name!.toLowerCase());
      });
      this.onConnection(socket);
    });
  }

  static async start(): Promise<HostileRedis> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new HostileRedis(server);
  }

  get url(): string {
    return `redis://:password@127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  #answer(socket: Socket, command: string): void {
    if (command.startsWith('eval')) this.onScript(socket);
    else if (this.onHandshake !== undefined) this.onHandshake(socket);
    else if (command === 'hello') socket.write("-ERR unknown command 'HELLO'\r\n");
    else if (command === 'info') socket.write(`$${INFO.length}\r\n${INFO}\r\n`);
    else socket.write('+OK\r\n');
  }
}
