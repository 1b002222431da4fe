import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import { counter, gauge } from '@libs/platform';
import { ParserProcess, type ParserName, type ParserTask, type TaskOutcome } from './parser-process';

export interface PoolLimits {
  /** Children at once. */
  readonly maxProcesses: number;
  /** Of these, the ones that may work for one parser at once: no kind of file keeps all others waiting. */
  readonly maxPerParser: number;
  /** Tasks that may wait for a child; more are refused. */
  readonly maxWaiting: number;
  /** How long one may wait. */
  readonly maxWaitMs: number;
  /** After this time without a task a child ends. */
  readonly idleMs: number;
}

const DEFAULT_LIMITS: PoolLimits = {
  maxProcesses: 3,
  maxPerParser: 2,
  maxWaiting: 64,
  maxWaitMs: 5_000,
  idleMs: 120_000,
};

/** A child is replaced after this many tasks or seconds of work: nothing that one file left in it stays for long. */
const MOST_TASKS = 200;
const MOST_BUSY_MS = 10_000;
/** Idle children that turn out to be dead when a task comes; so many at most are tried. */
const MOST_CHILDREN_LOST = 4;
const REFUSED = { state: 'refused' } as const;

/** What came of a task; `refused`: too many wait, or no child can be started. */
export type ParserOutcome = Exclude<TaskOutcome, { state: 'lost' }> | { readonly state: 'refused' };

interface Waiting {
  readonly parser: ParserName;
  /** Called once: with false when the task has waited too long or its caller is gone. */
  readonly enter: (mayEnter: boolean) => void;
}

const tasks = counter({
  name: 'sluice_parser_tasks_total',
  help: 'Files and texts that were given to parsers, by parser and outcome',
  labelNames: ['parser', 'outcome'],
});

/**
 * Runs parsers for files and texts of strangers in a few children (ADR 0044). What a file does to its child, it does to
 * nothing else: a child that takes too much time or memory is killed, and the next task gets another.
 */
export class ParserPool implements OnApplicationShutdown {
  readonly #limits: PoolLimits;
  readonly #logger = new Logger(ParserPool.name);
  readonly #idle: { readonly process: ParserProcess; readonly timer: NodeJS.Timeout }[] = [];
  readonly #waiting: Waiting[] = [];
  readonly #running = new Map<ParserName, number>();
  readonly #processes = new Set<ParserProcess>();
  #isClosed = false;

  constructor(limits: Partial<PoolLimits> = {}) {
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
    gauge({
      name: 'sluice_parser_processes',
      help: 'Children that parse files and texts of strangers',
      collect: (metric) => metric.set(this.#processes.size),
    });
  }

  /** The ids of the children that are there. */
  get pids(): readonly number[] {
    return [...this.#processes].map(({ pid }) => pid);
  }

  /** @throws the signal's reason when it is aborted */
  async run(task: ParserTask, signal: AbortSignal): Promise<ParserOutcome> {
    const outcome = await this.#run(task, signal);
    signal.throwIfAborted();
    tasks.labels({ parser: task.parser, outcome: outcome.state }).inc();
    return outcome;
  }

  /** Ends all children; no task is taken any more. */
  async onApplicationShutdown(): Promise<void> {
    this.#isClosed = true;
    for (const { enter } of this.#waiting.splice(0)) enter(false);
    for (const { timer } of this.#idle.splice(0)) clearTimeout(timer);
    await Promise.all([...this.#processes].map((process) => process.end()));
    this.#processes.clear();
  }

  async #run(task: ParserTask, signal: AbortSignal): Promise<ParserOutcome> {
    if (!(await this.#enter(task.parser, signal))) return REFUSED;
    try {
      for (let attempt = 0; attempt < MOST_CHILDREN_LOST; attempt += 1) {
        const process = await this.#take();
        if (process === null) break;
        const outcome = await process.run(task, signal);
        this.#giveBack(process);
        if (outcome.state !== 'lost') return outcome;
        if (signal.aborted) break;
      }
      return REFUSED;
    } finally {
      this.#leave(task.parser);
    }
  }

  /** Whether there is a place; resolves when there is one, or when it has waited too long. */
  async #enter(parser: ParserName, signal: AbortSignal): Promise<boolean> {
    if (this.#isClosed || signal.aborted) return false;
    if (this.#hasRoom(parser)) {
      this.#count(parser, 1);
      return true;
    }
    if (this.#waiting.length >= this.#limits.maxWaiting) return false;
    return await new Promise((resolve) => {
      const giveUp = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        waiting.enter(false);
      };
      const timer = setTimeout(giveUp, this.#limits.maxWaitMs);
      const enter = (mayEnter: boolean): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', giveUp);
        resolve(mayEnter);
      };
      const waiting: Waiting = { parser, enter };
      signal.addEventListener('abort', giveUp, { once: true });
      this.#waiting.push(waiting);
    });
  }

  /** Hands the place to the first that waits and may have it. */
  #leave(parser: ParserName): void {
    this.#count(parser, -1);
    const index = this.#waiting.findIndex((waiting) => this.#hasRoom(waiting.parser));
    if (index === -1) return;
    const [next] = this.#waiting.splice(index, 1);
    this.#count(next!.parser, 1);
    next!.enter(true);
  }

  #hasRoom(parser: ParserName): boolean {
    const { maxProcesses, maxPerParser } = this.#limits;
    const all = [...this.#running.values()].reduce((sum, count) => sum + count, 0);
    return all < maxProcesses && (this.#running.get(parser) ?? 0) < maxPerParser;
  }

  #count(parser: ParserName, change: number): void {
    this.#running.set(parser, (this.#running.get(parser) ?? 0) + change);
  }

  /** The child that was idle for the shortest time, else a new one; null when none can be started. */
  async #take(): Promise<ParserProcess | null> {
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      clearTimeout(idle.timer);
      if (idle.process.isAlive) return idle.process;
      this.#processes.delete(idle.process);
    }
    if (this.#isClosed) return null;
    try {
      const process = await ParserProcess.start();
      if (this.#isClosed) {
        process.kill();
        return null;
      }
      this.#processes.add(process);
      return process;
    } catch (error) {
      this.#logger.error('No child for parsers can be started', error);
      return null;
    }
  }

  #giveBack(process: ParserProcess): void {
    const isWorn = process.tasks >= MOST_TASKS || process.busyMs >= MOST_BUSY_MS;
    if (this.#isClosed || isWorn || !process.isAlive) return this.#discard(process);
    const timer = setTimeout(() => {
      this.#idle.splice(
        this.#idle.findIndex((idle) => idle.process === process),
        1,
      );
      this.#discard(process);
    }, this.#limits.idleMs);
    timer.unref();
    this.#idle.push({ process, timer });
  }

  #discard(process: ParserProcess): void {
    this.#processes.delete(process);
    process.kill();
  }
}
