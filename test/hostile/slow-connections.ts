import { connect, type Socket } from 'node:net';

export interface SlowConnectionsOptions {
  readonly baseUrl: string;
  readonly count: number;
  /** What the nth connection sends at once; afterwards it sends one byte from time to time. */
  readonly opening: (nth: number) => string;
  readonly drip: string;
  readonly everyMs: number;
}

const REOPEN_AFTER_MS = 1_000;

/** Connections that send a byte now and then. One that the server closes is opened again a second later. */
export class SlowConnections {
  readonly #sockets = new Map<number, Socket>();
  readonly #established = new Set<number>();
  readonly #timers = new Set<NodeJS.Timeout>();
  /** By status; 0 counts connections that were closed without an answer. */
  readonly #answers = new Map<number, number>();
  readonly #drip: NodeJS.Timeout;
  #isOver = false;

  constructor(private readonly options: SlowConnectionsOptions) {
    for (let nth = 0; nth < options.count; nth += 1) this.#later(() => this.#open(nth), (nth / options.count) * 1_000);
    this.#drip = setInterval(() => {
      for (const socket of this.#sockets.values()) if (socket.writable) socket.write(options.drip);
    }, options.everyMs);
  }

  get open(): number {
    return [...this.#sockets.values()].filter(({ readyState }) => readyState === 'open').length;
  }

  /** How many have been open, some of them until the server ended them. */
  get established(): number {
    return this.#established.size;
  }

  get answers(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#answers);
  }

  stop(): void {
    this.#isOver = true;
    clearInterval(this.#drip);
    for (const timer of this.#timers) clearTimeout(timer);
    for (const socket of this.#sockets.values()) socket.destroy();
  }

  #open(nth: number): void {
    if (this.#isOver) return;
    const { hostname, port } = new URL(this.options.baseUrl);
    const socket = connect(Number(port), hostname);
    let status = 0;
    this.#sockets.set(nth, socket);
    socket.on('error', () => undefined);
    socket.on('connect', () => {
      this.#established.add(nth);
      socket.write(this.options.opening(nth));
    });
    socket.on('data', (data: Buffer) => (status ||= Number(/^HTTP\/1\.1 (\d+)/.exec(data.toString('latin1'))?.[1])));
    // One that is ended by the server would stay half open.
    socket.on('end', () => socket.destroy());
    socket.on('close', () => {
      if (this.#isOver) return;
      this.#answers.set(status, (this.#answers.get(status) ?? 0) + 1);
      this.#later(() => this.#open(nth), REOPEN_AFTER_MS);
    });
  }

  #later(act: () => void, ms: number): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      act();
    }, ms);
    this.#timers.add(timer);
  }
}
