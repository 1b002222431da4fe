import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { InFlight } from './in-flight';

const LOOK_MS = 250;

/**
 * The connections of a server, to close them when it stops. Node considers a request over when its answer was handed to
 * the socket, even if much of it is still unsent.
 */
export class OpenConnections {
  readonly #sockets = new Set<Socket>();

  constructor(server: Server) {
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  /**
   * Closes each connection when all of its requests are answered, everything is sent, and no further request is
   * arriving. Keeps connections without any request. Continues until the returned function is called.
   */
  closeAsTheyRest(inFlight: InFlight, lookMs = LOOK_MS): () => void {
    let before = new Map<Socket, number>();
    const look = (): void => {
      const busy = new Set([...inFlight].map(({ response }) => response?.req.socket));
      const resting = [...this.#sockets].filter((one) => !busy.has(one) && one.bytesRead > 0 && !one.writableLength);
      for (const socket of resting) if (before.get(socket) === socket.bytesRead) socket.destroy();
      before = new Map(resting.map((socket) => [socket, socket.bytesRead]));
    };
    look();
    const timer = setInterval(look, lookMs);
    return () => clearInterval(timer);
  }
}
