import type { Socket } from 'node:net';

interface Connection {
  readonly peer: string;
  /** Gives its place back. */
  readonly leave: () => void;
  requests: number;
}

interface Peer {
  connections: number;
  /** Without a request; those that rest longest come first. */
  readonly idle: Set<Socket>;
}

/** The connections that can be closed for others: those on which no request runs. */
export class IdleConnections {
  readonly #connections = new Map<Socket, Connection>();
  readonly #peers = new Map<string, Peer>();

  add(socket: Socket, peer: string, leave: () => void): void {
    this.#connections.set(socket, { peer, leave, requests: 0 });
    const known = this.#peers.get(peer) ?? { connections: 0, idle: new Set() };
    known.connections += 1;
    known.idle.add(socket);
    this.#peers.set(peer, known);
  }

  remove(socket: Socket): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    this.#connections.delete(socket);
    const peer = this.#peers.get(connection.peer)!;
    peer.connections -= 1;
    peer.idle.delete(socket);
    if (peer.connections === 0) this.#peers.delete(connection.peer);
  }

  /** A request has arrived. */
  busy(socket: Socket): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    connection.requests += 1;
    this.#peers.get(connection.peer)!.idle.delete(socket);
  }

  /** A request is over. */
  rest(socket: Socket): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    connection.requests -= 1;
    if (connection.requests === 0) this.#peers.get(connection.peer)!.idle.add(socket);
  }

  /**
   * Closes the connection that rests longest, of the peer that has the most. A peer loses none to one that has as many.
   *
   * @param newcomer the peer that wants one more
   * @returns false if there is none to close
   */
  closeOne(newcomer: string): boolean {
    const [socket] = this.#toClose(newcomer)?.idle ?? [];
    if (socket === undefined) return false;
    this.#connections.get(socket)!.leave();
    socket.destroy();
    return true;
  }

  /** The peer with the most connections among those with more than the newcomer, else the newcomer itself. */
  #toClose(newcomer: string): Peer | undefined {
    let largest = this.#peers.get(newcomer);
    let most = largest?.connections ?? 0;
    for (const peer of this.#peers.values()) {
      if (peer.idle.size === 0 || peer.connections <= most) continue;
      largest = peer;
      most = peer.connections;
    }
    return largest;
  }
}
