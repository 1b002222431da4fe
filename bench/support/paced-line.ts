import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** What a busy machine makes it late is made up for, as what waits at a real line goes on being sent; idleness is not. */
const MOST_LATE_MS = 5;

/** Forwards TCP connections: so many bytes per millisecond to its target, answers without a limit. */
export class PacedLine {
  /** Set it before the first connection. */
  targetUrl = '';
  readonly #server: Server;

  /** The speed may change between connections. */
  private constructor(public bytesPerMs: number) {
    this.#server = createServer((socket) => this.#relay(socket));
  }

  static async open(bytesPerMs: number): Promise<PacedLine> {
    const line = new PacedLine(bytesPerMs);
    await once(line.#server.listen(0, '127.0.0.1'), 'listening');
    return line;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
  }

  #relay(caller: Socket): void {
    const { hostname, port } = new URL(this.targetUrl);
    const target = connect(Number(port), hostname);
    const end = (): void => {
      caller.destroy();
      target.destroy();
    };
    for (const socket of [caller, target]) socket.setNoDelay(true).on('error', end).on('close', end);
    target.pipe(caller);
    void this.#pass(caller, target).catch(end);
  }

  async #pass(caller: Socket, target: Socket): Promise<void> {
    let freeMs = performance.now();
    for await (const chunk of caller as AsyncIterable<Buffer>) {
      freeMs = Math.max(freeMs, performance.now() - MOST_LATE_MS) + chunk.length / this.bytesPerMs;
      if (freeMs > performance.now() + 1) await delay(freeMs - performance.now());
      if (!target.write(chunk)) await once(target, 'drain');
    }
    target.end();
  }
}
