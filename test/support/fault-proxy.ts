import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { FaultLane } from './fault-lane';
import { HEALTHY_LINK, type LinkConditions } from './link-conditions';
import { PostgresWatch, type CommitCut, type CommitKind, type CommitMoment, type WireWatch } from './postgres-wire';

export type { Direction, LinkConditions } from './link-conditions';
export type { CommitCut, CommitKind, CommitMoment } from './postgres-wire';

/** `rst` resets the connection, as a dead host does; `fin` ends it in order, as a server that shuts down does. */
export type CutKind = 'rst' | 'fin';

export interface ProxyTarget {
  readonly host: string;
  readonly port: number;
  /** Which protocol to read, to find commits. Default: none. */
  readonly protocol?: 'postgres';
}

/** A connection through the proxy: two sockets and a lane for each direction. */
class Link {
  readonly #up: FaultLane;
  readonly #down: FaultLane;

  constructor(
    private readonly client: Socket,
    private readonly server: Socket,
    private readonly watch: WireWatch | null,
    private readonly on: { readonly close: (link: Link) => void; readonly cut: (link: Link) => void },
  ) {
    this.#up = new FaultLane('up', client, server);
    this.#down = new FaultLane('down', server, client);
    this.#join('up', client, server, this.#up);
    this.#join('down', server, client, this.#down);
    client.on('close', () => on.close(this));
  }

  set conditions(conditions: LinkConditions) {
    this.#up.conditions = conditions;
    this.#down.conditions = conditions;
  }

  get isHoldingBytes(): boolean {
    return this.#up.isHoldingBytes || this.#down.isHoldingBytes;
  }

  cut(kind: CutKind): void {
    this.#up.discard();
    this.#down.discard();
    for (const socket of [this.client, this.server]) {
      if (kind === 'rst') socket.resetAndDestroy();
      else socket.end(() => socket.destroy());
    }
  }

  #join(direction: 'up' | 'down', from: Socket, to: Socket, lane: FaultLane): void {
    from.on('data', (bytes: Buffer) => {
      if (this.watch === null) return lane.push(bytes);
      const { forward, cut } = this.watch.see(direction, bytes);
      lane.push(forward);
      if (cut) this.on.cut(this);
    });
    from.on('end', () => lane.end());
    // A reset of one side is a reset of the other: both ends see what a broken network shows.
    from.on('error', () => to.resetAndDestroy());
    from.on('close', () => {
      if (!from.readableEnded) to.destroy();
    });
  }
}

/** A TCP proxy before one server, for the faults of a network. Starts as a healthy link. */
export class FaultProxy {
  readonly #links = new Set<Link>();
  #conditions: LinkConditions = HEALTHY_LINK;
  #isRefusing = false;
  #commitCut: CommitCut | null = null;
  #commitCutsLeft = 0;
  /** Commits that were cut off, by the moment. */
  readonly commitCuts: Record<CommitMoment, number> = { before: 0, after: 0, answered: 0 };

  private constructor(
    private readonly server: Server,
    private readonly target: ProxyTarget,
  ) {
    server.on('connection', (client) => this.#onConnection(client));
  }

  /** Listens on a free port of the loopback address. */
  static async start(target: ProxyTarget): Promise<FaultProxy> {
    const server = createServer({ allowHalfOpen: true, noDelay: true });
    const proxy = new FaultProxy(server, target);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Connections that are open now. */
  get connections(): number {
    return this.#links.size;
  }

  /** The same URL, through this proxy. */
  through(url: string): string {
    const proxied = new URL(url);
    proxied.hostname = '127.0.0.1';
    proxied.port = String(this.port);
    return proxied.href;
  }

  /** Cuts every connection; new ones are accepted. */
  cutAll(kind: CutKind): void {
    for (const link of this.#links) link.cut(kind);
  }

  /** Cuts one connection; `draw` from 0 to below 1 chooses which. Does nothing when there is none. */
  cutOne(kind: CutKind, draw: number): void {
    [...this.#links][Math.floor(draw * this.#links.size)]?.cut(kind);
  }

  /** Resets every connection, and each new one until `accept` or `heal`. */
  refuse(): void {
    this.#isRefusing = true;
    this.cutAll('rst');
  }

  accept(): void {
    this.#isRefusing = false;
  }

  /** Sets some conditions of the link; the others stay. */
  impair(conditions: Partial<LinkConditions>): void {
    this.#conditions = { ...this.#conditions, ...conditions };
    for (const link of this.#links) link.conditions = this.#conditions;
  }

  /**
   * Cuts the connections of the next `count` commits of these kinds, each at this moment. With `answered` every
   * connection is cut behind the answer, and new ones are refused until `heal`.
   */
  cutAtCommit(cut: CommitCut, count: number): void {
    this.#commitCut = cut;
    this.#commitCutsLeft = count;
  }

  /** Ends every fault. Connections that hold bytes back are cut when `cutsHeld` is set, else the bytes pass. */
  heal(cutsHeld = false): void {
    this.#isRefusing = false;
    this.#commitCutsLeft = 0;
    if (cutsHeld) for (const link of this.#links) if (link.isHoldingBytes) link.cut('rst');
    this.impair(HEALTHY_LINK);
  }

  async close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.cutAll('rst');
    await closed;
  }

  #onConnection(client: Socket): void {
    client.on('error', () => client.destroy());
    if (this.#isRefusing) {
      client.resetAndDestroy();
      return;
    }
    const { host, port, protocol } = this.target;
    const server = connect({ host, port, allowHalfOpen: true, noDelay: true });
    const watch = protocol === 'postgres' ? new PostgresWatch((...about) => this.#drawCut(...about)) : null;
    const link = new Link(client, server, watch, {
      close: (closed) => this.#links.delete(closed),
      cut: (struck) => this.#cutAtCommit(struck),
    });
    link.conditions = this.#conditions;
    this.#links.add(link);
  }

  #cutAtCommit(struck: Link): void {
    if (this.#commitCut?.when !== 'answered') return struck.cut('rst');
    this.#isRefusing = true;
    // In order, so that the answer that was just passed on is not lost on its way.
    this.cutAll('fin');
  }

  #drawCut(kind: CommitKind, statements: string): CommitMoment | null {
    const cut = this.#commitCut;
    if (this.#commitCutsLeft === 0 || cut === null || !cut.kinds.includes(kind)) return null;
    if (!statements.includes(cut.mentioning ?? '')) return null;
    this.#commitCutsLeft -= 1;
    this.commitCuts[cut.when] += 1;
    return cut.when;
  }
}
