import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { APP_ALLOCATOR, APP_NODE_FLAGS } from '../app-node-flags';
import { root } from '../checkout';
import type { AppLog } from './app-log';

export interface AppSpec {
  readonly name: string;
  /** The program, a file for Node. */
  readonly entry: string;
  readonly folder: string;
  readonly environment: NodeJS.ProcessEnv;
}

export interface RestartTimings {
  readonly firstDelayMs: number;
  readonly longestDelayMs: number;
  /** An app that has lived this long starts again with the first delay. */
  readonly settledAfterMs: number;
}

export const RESTART_TIMINGS: RestartTimings = { firstDelayMs: 2_000, longestDelayMs: 30_000, settledAfterMs: 60_000 };

const exitWithParent = join(root, 'scripts/exit-with-parent.cjs');

const hasExited = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;

const howItEnded = (child: ChildProcess): string =>
  child.signalCode === null ? `exited with code ${child.exitCode}` : `was ended by ${child.signalCode}`;

/**
 * A child process that is restarted when it dies: after the first delay, then after twice the previous one up to the
 * longest. `onChange` is called at each start and each death.
 */
export class SupervisedApp {
  #child: ChildProcess | undefined;
  #delayMs: number;
  #restart: NodeJS.Timeout | undefined;
  #stopping = false;
  /** True while it ends in order to be restarted with the latest build. */
  #replacing = false;
  #deaths = 0;

  constructor(
    private readonly spec: AppSpec,
    private readonly log: AppLog,
    private readonly onChange: (app: SupervisedApp, event: 'started' | 'died', what: string) => void,
    private readonly timings: RestartTimings = RESTART_TIMINGS,
  ) {
    this.#delayMs = timings.firstDelayMs;
  }

  get name(): string {
    return this.spec.name;
  }

  /** Undefined while it is down. */
  get pid(): number | undefined {
    return this.#child !== undefined && !hasExited(this.#child) ? this.#child.pid : undefined;
  }

  get deaths(): number {
    return this.#deaths;
  }

  get lastLines(): readonly string[] {
    return this.log.lastLines;
  }

  start(): void {
    if (this.#stopping) return;
    const { entry, folder, environment } = this.spec;
    const child = spawn(process.execPath, [...APP_NODE_FLAGS, '-r', exitWithParent, entry], {
      cwd: folder,
      env: { ...APP_ALLOCATOR, ...environment },
      // Its stdin is a pipe, which closes when this process dies.
      stdio: ['pipe', 'pipe', 'pipe'],
      // Its own process group, so that a Ctrl-C in the terminal reaches only this process.
      detached: true,
    });
    const startedAt = performance.now();
    this.#child = child;
    child.stdin.on('error', () => undefined);
    child.stdout.setEncoding('utf8').on('data', (text: string) => this.log.take('stdout', text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => this.log.take('stderr', text));
    child.once('error', (error) => this.log.note(`could not be started: ${error.message}`));
    child.once('exit', () => this.died(child, performance.now() - startedAt));
    this.log.note(`started with pid ${child.pid ?? 'none'}`);
    this.onChange(this, 'started', `started with pid ${child.pid ?? 'none'}`);
  }

  /** Asks it to end; kills it when it has not ended in time. It is not started again. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    await this.#end(graceMs);
  }

  /** Ends it and restarts it at once with the latest build. Does nothing if it was stopped. */
  async replace(graceMs: number): Promise<void> {
    this.#replacing = true;
    await this.#end(graceMs);
    this.#replacing = false;
    this.start();
  }

  async #end(graceMs: number): Promise<void> {
    clearTimeout(this.#restart);
    const child = this.#child;
    if (child === undefined || hasExited(child)) return;
    // Its last output may arrive after its end.
    const exited = once(child, 'close');
    child.kill('SIGTERM');
    const killer = setTimeout(() => child.kill('SIGKILL'), graceMs);
    await exited;
    clearTimeout(killer);
  }

  /** Kills the process at once, without the patience of `stop`. */
  kill(): void {
    this.#stopping = true;
    clearTimeout(this.#restart);
    this.#child?.kill('SIGKILL');
  }

  private died(child: ChildProcess, livedMs: number): void {
    this.log.note(howItEnded(child));
    if (this.#stopping || this.#replacing) return;
    this.#deaths += 1;
    if (livedMs >= this.timings.settledAfterMs) this.#delayMs = this.timings.firstDelayMs;
    const delayMs = this.#delayMs;
    this.#delayMs = Math.min(delayMs * 2, this.timings.longestDelayMs);
    this.#restart = setTimeout(() => this.start(), delayMs);
    this.onChange(this, 'died', `${howItEnded(child)}; it is started again in ${delayMs / 1_000} s`);
  }
}
