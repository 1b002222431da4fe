import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/**
 * What happens to a COMMIT. `unanswered`: it is executed, and the connection ends before its answer. `terminated`: the
 * same, with the error of a session that PostgreSQL ends. `unsent`: the connection ends before PostgreSQL hears of it.
 * `late`: the connection of the client ends, and PostgreSQL hears of the COMMIT when the test says so.
 */
export type CommitFault = 'unanswered' | 'terminated' | 'unsent' | 'late';

interface PlannedFault {
  readonly kind: CommitFault;
  /** Part of a message that the transaction must have sent: the name or the text of a statement. */
  readonly mark: string;
  readonly done: (sendLate: () => void) => void;
}

const COMMAND_COMPLETE = 0x43;
/** What is longer carries rows. */
const LONGEST_STATEMENT = 16_384;
const COMMIT_QUERY = Buffer.from('COMMIT\0');
const ROLLBACK_QUERY = Buffer.from('ROLLBACK\0');
const TERMINATED = 'SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0';

/** Passes messages between clients and PostgreSQL, and ends connections at the moment that a test names. */
export class DatabaseProxy {
  readonly #links = new Set<Link>();
  #planned: PlannedFault | null = null;
  #untilCut = Number.POSITIVE_INFINITY;
  #isAway = false;
  #onRefused: (() => void) | null = null;

  private constructor(
    private readonly server: Server,
    /** Where clients connect instead. */
    readonly url: string,
    private readonly target: URL,
  ) {}

  static async start(databaseUrl: string): Promise<DatabaseProxy> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = new URL(databaseUrl);
    url.hostname = '127.0.0.1';
    url.port = String((server.address() as AddressInfo).port);
    const proxy = new DatabaseProxy(server, url.href, new URL(databaseUrl));
    server.on('connection', (client) => proxy.#accept(client));
    return proxy;
  }

  /**
   * The next COMMIT of a transaction that sent `mark` meets the fault. Resolves when it has, with what sends a `late`
   * COMMIT to PostgreSQL.
   */
  failCommit(mark: string, kind: CommitFault): Promise<{ readonly sendLate: () => void }> {
    return new Promise((resolve) => {
      this.#planned = { kind, mark, done: (sendLate) => resolve({ sendLate }) };
    });
  }

  /** Ends one connection at the n-th message of PostgreSQL from now on, counted over all connections, from 1. */
  cutAtMessage(n: number): void {
    this.#untilCut = n;
  }

  /** Whether the connection that `cutAtMessage` wanted has been ended. */
  get hasCut(): boolean {
    return this.#untilCut <= 0;
  }

  /** Ends every connection; new ones are refused until `comeBack`. */
  goAway(): void {
    this.#isAway = true;
    for (const link of this.#links) link.end();
  }

  /** Resolves when the next connection is refused. */
  refused(): Promise<void> {
    return new Promise((resolve) => (this.#onRefused = resolve));
  }

  comeBack(): void {
    this.#isAway = false;
  }

  /** From now on nothing passes on the connections that there are, and neither side hears of it. New ones work. */
  silence(): void {
    for (const link of this.#links) link.silence();
  }

  async stop(): Promise<void> {
    this.goAway();
    this.server.close();
    await once(this.server, 'close');
  }

  #accept(client: Socket): void {
    if (this.#isAway) {
      client.destroy();
      this.#onRefused?.();
      return;
    }
    const link: Link = new Link(client, connect(Number(this.target.port || 5_432), this.target.hostname), {
      onCommit: (sent) => this.#faultOf(sent),
      isCut: () => (this.#untilCut -= 1) === 0,
      onEnd: () => this.#links.delete(link),
    });
    this.#links.add(link);
  }

  #faultOf(sent: Buffer): PlannedFault | null {
    const planned = this.#planned;
    if (planned === null || !sent.includes(planned.mark)) return null;
    this.#planned = null;
    return planned;
  }
}

interface LinkEvents {
  /** What meets a COMMIT, by all that its transaction sent. */
  onCommit(sent: Buffer): PlannedFault | null;
  isCut(): boolean;
  onEnd(): void;
}

/** One connection of a client. */
class Link {
  #sent: Buffer[] = [];
  #fault: PlannedFault | null = null;
  #isLate = false;
  #isSilent = false;

  constructor(
    private readonly client: Socket,
    private readonly upstream: Socket,
    private readonly events: LinkEvents,
  ) {
    // The first message of a client has no type.
    readMessages(client, 0, (message) => this.#fromClient(message));
    readMessages(upstream, 1, (message) => this.#fromServer(message));
    for (const socket of [client, upstream]) {
      socket.setNoDelay(true);
      socket.on('error', () => this.end());
    }
    upstream.on('close', () => this.#isSilent || this.end());
    client.on('close', () => this.#isLate || this.end());
  }

  silence(): void {
    this.#isSilent = true;
  }

  end(): void {
    this.client.destroy();
    this.upstream.destroy();
    this.events.onEnd();
  }

  #fromClient(message: Buffer): void {
    if (this.#isSilent) return;
    if (message.subarray(5).equals(COMMIT_QUERY)) {
      this.#fault = this.events.onCommit(Buffer.concat(this.#sent));
      this.#sent = [];
      if (this.#fault?.kind === 'unsent') return this.#meetFault();
      if (this.#fault?.kind === 'late') return this.#meetLate(message);
    } else if (message.subarray(5).equals(ROLLBACK_QUERY)) {
      this.#sent = [];
    } else if (message.length < LONGEST_STATEMENT) {
      this.#sent.push(message);
    }
    this.upstream.write(message);
  }

  #fromServer(message: Buffer): void {
    if (this.#isSilent) return;
    if (this.#fault !== null && message[0] === COMMAND_COMPLETE) return this.#meetFault();
    if (this.events.isCut()) return this.end();
    if (!this.client.destroyed) this.client.write(message);
  }

  #meetFault(): void {
    const fault = this.#fault!;
    this.#fault = null;
    if (fault.kind === 'terminated') this.client.end(errorMessage(TERMINATED), () => this.end());
    else this.end();
    fault.done(() => undefined);
  }

  #meetLate(commit: Buffer): void {
    const { done } = this.#fault!;
    this.#fault = null;
    this.#isLate = true;
    this.client.destroy();
    done(() => this.upstream.end(commit));
  }
}

function errorMessage(fields: string): Buffer {
  const head = Buffer.from('E\0\0\0\0');
  head.writeInt32BE(4 + fields.length, 1);
  return Buffer.concat([head, Buffer.from(fields)]);
}

/** Cuts what a socket receives into messages: a type of `typeBytes`, then a length that counts itself. */
function readMessages(socket: Socket, typeBytes: number, onMessage: (message: Buffer) => void): void {
  let rest: Buffer = Buffer.alloc(0);
  let ahead = typeBytes;
  socket.on('data', (chunk: Buffer) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    while (rest.length >= ahead + 4) {
      const length = ahead + rest.readInt32BE(ahead);
      if (rest.length < length) return;
      onMessage(rest.subarray(0, length));
      rest = rest.subarray(length);
      ahead = 1;
    }
  });
}
