import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { ProbeResult } from './probe';
import type { SystemUser } from './programs';

/** A private server: own port on loopback, own data. Its URL and data survive `kill9` and `restart`. */
export interface PrivateServer {
  /** URL with login and password. */
  readonly url: string;
  readonly port: number;
  /** Id of the server process itself, not of a wrapper. Changes after a restart. */
  readonly pid: number;
  /** Asks the server to shut down and waits for its end. Does nothing if it does not run. */
  stop(): Promise<void>;
  /** Kills it without a chance to clean up, and waits for its end. */
  kill9(): Promise<void>;
  /** Stops it if it runs, and starts it with the same data and port; resolves when it accepts logins. */
  restart(): Promise<void>;
}

export interface ServerProgram {
  readonly title: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly folder: string;
  readonly logFile: string;
  readonly environment?: NodeJS.ProcessEnv;
  readonly user?: SystemUser | undefined;
  /** The signal that makes it close its files and exit at once. */
  readonly stopSignal: NodeJS.Signals;
  readonly url: string;
  readonly port: number;
  readonly probe: () => Promise<ProbeResult>;
  /** Returns the server's own process id if `command` is a wrapper. */
  readonly pidBehindWrapper?: () => number;
}

const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 30_000;
const PROBE_EVERY_MS = 100;
/** Remains of a killed server (shared memory, a lock) may block its successor for this time. */
const EARLY_EXITS_FORGIVEN_MS = 15_000;

const hasExited = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;

async function exitOf(child: ChildProcess, timeoutMs: number): Promise<boolean> {
  if (hasExited(child)) return true;
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), timeoutMs);
  try {
    await once(child, 'exit', { signal: timeout.signal });
    return true;
  } catch {
    return hasExited(child);
  } finally {
    clearTimeout(timer);
  }
}

/** A shell that ends the server when this process dies, whatever it dies of: then the shell's stdin closes. */
function guard(pid: number, signal: NodeJS.Signals): ChildProcess {
  const script = `while read -r _; do :; done; kill -s ${signal.slice(3)} "$1" 2>/dev/null`;
  const child = spawn('sh', ['-c', script, 'guard', String(pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  child.unref();
  (child.stdin as Socket).unref();
  return child;
}

export class PrivateProcess implements PrivateServer {
  #child: ChildProcess | undefined;

  private constructor(private readonly program: ServerProgram) {}

  static async start(program: ServerProgram): Promise<PrivateProcess> {
    const server = new PrivateProcess(program);
    await server.start();
    return server;
  }

  get url(): string {
    return this.program.url;
  }

  get port(): number {
    return this.program.port;
  }

  get pid(): number {
    const pid = this.program.pidBehindWrapper?.() ?? this.#child?.pid;
    if (pid === undefined) throw new Error(`${this.program.title} has not been started`);
    return pid;
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined || hasExited(child)) return;
    child.kill(this.program.stopSignal);
    if (await exitOf(child, STOP_TIMEOUT_MS)) return;
    await this.kill9();
  }

  async kill9(): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined || hasExited(child)) return;
    // The whole process group: a wrapper and the server behind it go together.
    process.kill(-child.pid, 'SIGKILL');
    await exitOf(child, STOP_TIMEOUT_MS);
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  private async start(): Promise<void> {
    const startedAt = performance.now();
    for (;;) {
      const child = this.spawn();
      if (await this.becomesReady(child)) return;
      if (!hasExited(child)) break;
      if (performance.now() - startedAt > EARLY_EXITS_FORGIVEN_MS) break;
      await delay(500);
    }
    await this.kill9();
    throw new Error(`${this.program.title} did not start. ${this.program.logFile} ends with:\n${this.logTail()}`);
  }

  private spawn(): ChildProcess {
    const { command, args, folder, environment, user, logFile, stopSignal } = this.program;
    const log = openSync(logFile, 'a', 0o600);
    const child = spawn(command, args, {
      cwd: folder,
      env: environment ?? process.env,
      stdio: ['ignore', log, log],
      // Its own process group, so that a Ctrl-C in the terminal reaches only this process.
      detached: true,
      ...(user && { uid: user.userId, gid: user.groupId }),
    });
    closeSync(log);
    child.unref();
    this.#child = child;
    if (child.pid !== undefined) {
      const guarding = guard(child.pid, stopSignal);
      child.once('exit', () => guarding.kill('SIGKILL'));
    }
    return child;
  }

  private async becomesReady(child: ChildProcess): Promise<boolean> {
    let failedToSpawn = false;
    child.once('error', () => (failedToSpawn = true));
    const startedAt = performance.now();
    while (performance.now() - startedAt < START_TIMEOUT_MS) {
      if (failedToSpawn || hasExited(child)) return false;
      const result = await this.program.probe();
      // The answer must be this server's: a foreign one may sit on the port while ours has failed to bind it.
      if (result.ok) return !hasExited(child);
      await delay(PROBE_EVERY_MS);
    }
    return false;
  }

  private logTail(): string {
    return readFileSync(this.program.logFile, 'utf8').split('\n').slice(-15).join('\n');
  }
}
