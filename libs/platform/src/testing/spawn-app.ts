import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

const ROOT = resolve(__dirname, '../../../..');

type LogLine = Readonly<Record<string, unknown>>;

/** An app run from its sources as a real process, with its log lines as they come. */
export class SpawnedApp {
  readonly lines: LogLine[] = [];
  /** Exit code, or null when a signal ended it. */
  readonly exited: Promise<number | null>;
  private readonly waiting: { msg: string; found: (line: LogLine) => void }[] = [];

  private constructor(private readonly child: ChildProcess) {
    this.exited = once(child, 'close').then(([code]) => code as number | null);
    createInterface({ input: child.stdout! }).on('line', (text) => this.take(text));
  }

  /** @param main path from the root of the repository */
  static start(main: string, env: Readonly<Record<string, string>>): SpawnedApp {
    const args = ['--require', join(__dirname, 'typescript-register.cjs'), join(ROOT, main)];
    return new SpawnedApp(
      spawn(process.execPath, args, {
        cwd: ROOT,
        env: { PATH: process.env.PATH, ...env },
        stdio: ['ignore', 'pipe', 'inherit'],
      }),
    );
  }

  /** The first line with this message; rejects when the process ends without it. */
  async line(msg: string): Promise<LogLine> {
    const known = this.lines.find((line) => line.msg === msg);
    if (known) return known;
    const found = new Promise<LogLine>((resolve) => this.waiting.push({ msg, found: resolve }));
    const ended = this.exited.then((code) => {
      throw new Error(`ended with ${code} before "${msg}": ${JSON.stringify(this.lines)}`);
    });
    return Promise.race([found, ended]);
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  private take(text: string): void {
    const line = JSON.parse(text) as LogLine;
    this.lines.push(line);
    for (const { msg, found } of this.waiting) if (msg === line.msg) found(line);
  }
}

/** Something that accepts connections, in the place of a server that is only looked at. */
export class FakeListener {
  readonly port: number;
  private readonly sockets = new Set<Socket>();

  private constructor(private readonly server: Server) {
    this.port = (server.address() as AddressInfo).port;
    server.on('connection', (socket) => {
      this.sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => this.sockets.delete(socket));
    });
  }

  static async open(): Promise<FakeListener> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new FakeListener(server);
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
