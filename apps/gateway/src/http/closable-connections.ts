import type { Socket } from 'node:net';

interface Connection {
  readonly peer: string;
  /** Gives the place of the connection back. */
  readonly leave: () => void;
}

interface Peer {
  connections: number;
  /** The longest idle connections come first. */
  readonly closable: Set<Socket>;
}

/**
 * The connections that may be closed to make room: those without a running authenticated request. An unknown caller
 * could otherwise keep a request alive by not reading its answer.
 */
export class ClosableConnections {
  readonly #connections = new Map<Socket, Connection>();
  readonly #peers = new Map<string, Peer>();

  add(socket: Socket, peer: string, leave: () => void): void {
    this.#connections.set(socket, { peer, leave });
    const known = this.#peers.get(peer) ?? { connections: 0, closable: new Set() };
    known.connections += 1;
    known.closable.add(socket);
    this.#peers.set(peer, known);
  }

  remove(socket: Socket): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    this.#connections.delete(socket);
    const peer = this.#peers.get(connection.peer)!;
    peer.connections -= 1;
    peer.closable.delete(socket);
    if (peer.connections === 0) this.#peers.delete(connection.peer);
  }

  /** Protects a connection while an authenticated request runs on it. */
  protect(socket: Socket): void {
    this.#peerOf(socket)?.closable.delete(socket);
  }

  /** A request has arrived, or is over. */
  touch(socket: Socket): void {
    const closable = this.#peerOf(socket)?.closable;
    closable?.delete(socket);
    closable?.add(socket);
  }

  /**
   * Closes the longest idle connection of the peer that has the most. A peer never loses one to a peer with as many.
   * @param newcomer the peer that wants one more
   * @returns false if there is none to close
   */
  closeOne(newcomer: string): boolean {
    const [socket] = this.#toClose(newcomer)?.closable ?? [];
    if (socket === undefined) return false;
    this.#connections.get(socket)!.leave();
    socket.destroy();
    return true;
  }

  #peerOf(socket: Socket): Peer | undefined {
    const connection = this.#connections.get(socket);
    return connection && this.#peers.get(connection.peer);
  }

  /** Returns the peer with the most connections, if it has more than the newcomer; otherwise the newcomer itself. */
  #toClose(newcomer: string): Peer | undefined {
    let largest = this.#peers.get(newcomer);
    let most = largest?.connections ?? 0;
    for (const peer of this.#peers.values()) {
      if (peer.closable.size === 0 || peer.connections <= most) continue;
      largest = peer;
      most = peer.connections;
    }
    return largest;
  }
}
