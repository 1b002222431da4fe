import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import { counter, gauge } from '@libs/platform';
import { ParserPlaces, type PlaceLimits, type PlaceWork } from './parser-places';
import { ParserProcess, type ParserTask, type TaskOutcome } from './parser-process';

export interface PoolLimits extends PlaceLimits {
  /** A child without a task for this long is ended. */
  readonly idleMs: number;
}

const DEFAULT_LIMITS: PoolLimits = {
  maxProcesses: 3,
  maxPerParser: 2,
  maxWaiting: 64,
  maxWaitMs: 5_000,
  idleMs: 120_000,
};

/** A child is replaced after this many tasks or seconds of work, so that leftovers of one file do not stay for long. */
const MOST_TASKS = 200;
const MOST_BUSY_MS = 10_000;
/** Idle children may turn out to be dead when a task arrives; at most this many are tried. */
const MOST_CHILDREN_LOST = 4;
const REFUSED = { state: 'refused' } as const;

/** The result of a task; `refused`: too many tasks wait, or no child can be started. */
export type ParserOutcome = Exclude<TaskOutcome, { state: 'lost' }> | { readonly state: 'refused' };

const tasks = counter({
  name: 'sluice_parser_tasks_total',
  help: 'Files and texts that were given to parsers, by parser and outcome',
  labelNames: ['parser', 'outcome'],
});

/**
 * Runs parsers for untrusted files and texts in a few child processes (ADR 0044). A file can only harm its own child: a
 * child that uses too much time or memory is killed, and the next task gets another one.
 */
export class ParserPool implements OnApplicationShutdown {
  readonly #limits: PoolLimits;
  readonly #places: ParserPlaces;
  readonly #logger = new Logger(ParserPool.name);
  readonly #idle: { readonly process: ParserProcess; readonly timer: NodeJS.Timeout }[] = [];
  readonly #processes = new Set<ParserProcess>();
  #isClosed = false;

  constructor(limits: Partial<PoolLimits> = {}) {
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
    this.#places = new ParserPlaces(this.#limits);
    gauge({
      name: 'sluice_parser_processes',
      help: 'Children that parse files and texts of strangers',
      collect: (metric) => metric.set(this.#processes.size),
    });
  }

  /** The process ids of the running children. */
  get pids(): readonly number[] {
    return [...this.#processes].map(({ pid }) => pid);
  }

  /** @throws the signal's reason when it is aborted */
  async run(task: ParserTask, work: PlaceWork): Promise<ParserOutcome> {
    const outcome = await this.#run(task, work);
    work.signal.throwIfAborted();
    tasks.labels({ parser: task.parser, outcome: outcome.state }).inc();
    return outcome;
  }

  /** Ends all children; no task is taken any more. */
  async onApplicationShutdown(): Promise<void> {
    this.#isClosed = true;
    this.#places.close();
    for (const { timer } of this.#idle.splice(0)) clearTimeout(timer);
    await Promise.all([...this.#processes].map((process) => process.end()));
    this.#processes.clear();
  }

  async #run(task: ParserTask, work: PlaceWork): Promise<ParserOutcome> {
    const { signal } = work;
    if (!(await this.#places.enter(task.parser, work))) return REFUSED;
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
      this.#places.leave(task.parser, work);
    }
  }

  /** Returns the child that was idle for the shortest time, else a new one; null if none can be started. */
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
