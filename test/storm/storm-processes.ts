import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../scripts/checkout';
import { AppLog } from '../../scripts/development/app-log';
import { answersReady, waitUntilReady } from '../../scripts/development/readiness';
import { SupervisedApp } from '../../scripts/development/supervised-app';
import { eventually } from '../support/eventually';
import type { LogFinding, ProcessMeasure } from './evidence';
import type { StormHistory } from './history';
import { PROCESS_NAMES, PROCESSES, type ProcessName } from './parts';

const RESTART_TIMINGS = { firstDelayMs: 500, longestDelayMs: 500, settledAfterMs: 0 };
const STOP_GRACE_MS = 40_000;
const BACK_WITHIN_MS = 60_000;
const SERVING = '"msg":"Serving"';
const FATAL = '"level":"fatal"';
const ERROR = '"level":"error"';
/** In the log line of a request that was answered with 500. */
const INTERNAL = '"status":500';
const UNCAUGHT = /nobody caught|uncaught|unhandled ?rejection|UnhandledPromiseRejection/i;

interface Running {
  readonly app: SupervisedApp;
  readonly log: AppLog;
  readonly healthPort: number;
  /** The signal that the storm has just sent, for the death that follows. */
  injected: 'SIGKILL' | 'SIGTERM' | null;
  /** It has been ready since its last start. */
  isServing: boolean;
}

/** The apps of a storm as processes that come back half a second after each death. */
export class StormProcesses {
  readonly #running = new Map<ProcessName, Running>();

  constructor(
    private readonly folder: string,
    private readonly history: StormHistory,
    private readonly environmentOf: (name: ProcessName) => Readonly<Record<string, string>>,
  ) {}

  start(name: ProcessName, healthPort: number): void {
    const onLine = (line: string): void => {
      if (line.includes(SERVING)) this.#onServing(name);
    };
    const log = new AppLog({ name, file: this.#logFile(name), say: () => undefined, onLine });
    const entry = join(root, 'dist/apps', PROCESSES[name], 'main.js');
    const environment = { ...this.environmentOf(name), HEALTH_PORT: String(healthPort) };
    const onChange = (_: SupervisedApp, event: 'started' | 'died', what: string): void => {
      if (event === 'died') this.#onDeath(name, what.split(';')[0]!);
    };
    const app = new SupervisedApp({ name, entry, folder: root, environment }, log, onChange, RESTART_TIMINGS);
    this.#running.set(name, { app, log, healthPort, injected: null, isServing: false });
    app.start();
  }

  /** Undefined while it is down. */
  pidOf(name: ProcessName): number | undefined {
    return this.#running.get(name)?.app.pid;
  }

  /** Sends a signal that ends the process, and waits until it has ended. */
  async end(name: ProcessName, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const running = this.#get(name);
    const pid = await eventually(`${name} runs`, BACK_WITHIN_MS, () => running.app.pid);
    const { deaths } = running.app;
    running.injected = signal;
    process.kill(pid, signal);
    await eventually(`${name} ends`, STOP_GRACE_MS, () => (running.app.deaths > deaths ? true : undefined));
  }

  /** Stops a process where it is. @returns what lets it go on */
  async freeze(name: ProcessName): Promise<() => void> {
    const pid = await eventually(`${name} runs`, BACK_WITHIN_MS, () => this.pidOf(name));
    process.kill(pid, 'SIGSTOP');
    return () => {
      if (this.pidOf(name) === pid) process.kill(pid, 'SIGCONT');
    };
  }

  /** The processes that are not ready in time. */
  missing(withinMs: number): Promise<string[]> {
    const checks = new Map([...this.#running].map(([name, { healthPort }]) => [name, () => answersReady(healthPort)]));
    return waitUntilReady(checks, withinMs, () => false);
  }

  lastLines(name: ProcessName): readonly string[] {
    return this.#get(name).app.lastLines.slice(-15);
  }

  measure(): Map<ProcessName, ProcessMeasure> {
    const measured = new Map<ProcessName, ProcessMeasure>();
    for (const name of this.#running.keys()) {
      const pid = this.pidOf(name);
      if (pid === undefined) continue;
      const resident = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
      measured.set(name, {
        residentMib: Math.round(Number(resident) / 1_024),
        openFiles: readdirSync(`/proc/${pid}/fd`).length,
      });
    }
    return measured;
  }

  /** Lines that tell of an error that was not caught, or of a fatal one. */
  findings(): LogFinding[] {
    return PROCESS_NAMES.flatMap((name) =>
      this.#lines(name)
        .filter(isFinding)
        .map((line) => ({ process: name, line: line.slice(0, 600) })),
    );
  }

  /** Messages of the level error by how often they were logged, the most frequent first. */
  errorCounts(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const name of PROCESS_NAMES) {
      for (const line of this.#lines(name).filter((one) => one.includes(ERROR))) {
        const text = `${name}: ${/"msg":"([^"]{0,120})/.exec(line)?.[1] ?? line.slice(0, 120)}`;
        counts.set(text, (counts.get(text) ?? 0) + 1);
      }
    }
    return new Map([...counts].toSorted(([, left], [, right]) => right - left));
  }

  /** Why requests were answered with 500, by request id. */
  causes(): Map<string, string> {
    const causes = new Map<string, string>();
    const lines = PROCESS_NAMES.flatMap((name) => this.#lines(name)).filter((line) => line.includes(INTERNAL));
    for (const line of lines) {
      const { requestId, err } = JSON.parse(line) as FailedRequest;
      if (requestId !== undefined) causes.set(requestId, causeOf(err ?? {}));
    }
    return causes;
  }

  async stop(): Promise<void> {
    await Promise.all(
      [...this.#running.values()].map(async ({ app, log }) => {
        await app.stop(STOP_GRACE_MS);
        log.close();
      }),
    );
    this.#running.clear();
  }

  #onDeath(name: ProcessName, how: string): void {
    const running = this.#get(name);
    const { injected, isServing } = running;
    const death = { process: name, atMs: Date.now(), how, injected, wasBooting: !isServing, backMs: null };
    this.history.addDeath(death);
    running.injected = null;
    running.isServing = false;
  }

  #onServing(name: ProcessName): void {
    this.#get(name).isServing = true;
    this.history.noteBack(name, Date.now());
  }

  #get(name: ProcessName): Running {
    const running = this.#running.get(name);
    if (running === undefined) throw new Error(`${name} was not started`);
    return running;
  }

  #lines(name: ProcessName): string[] {
    const file = this.#logFile(name);
    return [`${file}.1`, file].flatMap((path) => {
      try {
        return readFileSync(path, 'utf8').split('\n');
      } catch {
        return [];
      }
    });
  }

  #logFile(name: ProcessName): string {
    return join(this.folder, `${name}.log`);
  }
}

interface FailedRequest {
  readonly requestId?: string;
  readonly err?: { readonly internal?: string; readonly stack?: string };
}

function causeOf({ internal, stack = '' }: NonNullable<FailedRequest['err']>): string {
  if (internal !== undefined) return internal;
  if (stack.includes('fromWire')) return 'an error of another app';
  return `at ${/at (\S+)/.exec(stack)?.[1] ?? 'an unknown place'}`;
}

function isFinding(line: string): boolean {
  return UNCAUGHT.test(line) || line.includes(FATAL);
}
