import { extname } from 'node:path';
import { Worker, type TransferListItem } from 'node:worker_threads';

export interface ThreadLimits {
  /** Tasks that run at the same time; others wait. */
  readonly maxThreads: number;
  /** Tasks that may wait; more are refused. */
  readonly maxWaiting: number;
  /** Of one task, from the start of its thread. */
  readonly timeoutMs: number;
}

/** What came of a task. */
export type ThreadOutcome<T> =
  | { readonly state: 'done'; readonly value: T }
  /** Too many tasks wait. */
  | { readonly state: 'refused' }
  /** Its time was up. */
  | { readonly state: 'timeout' }
  /** It took too much memory, or its thread ended without a word. */
  | { readonly state: 'broken'; readonly cause?: unknown };

const MEMORY_LIMITS = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 };

/**
 * Runs work whose length is up to strangers, each piece in a thread that is made for it and ends with it: it can
 * hold up no request, and a piece that runs away in time or memory ends its thread and nothing else.
 *
 * A worker file takes its task from `workerData` and posts one message. It stands alone: it imports packages, and
 * of this repository types only.
 */
export class BoundedThreads<Task, Value> {
  readonly #file: string;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  /** @param module path of the worker file without its extension, which is that of all files here */
  constructor(
    module: string,
    private readonly limits: ThreadLimits,
  ) {
    this.#file = module + extname(__filename);
  }

  /**
   * @param transfer buffers of the task that change hands: the caller can no longer read them
   * @throws the signal's reason when it is aborted
   */
  async run(task: Task, signal: AbortSignal, transfer: TransferListItem[] = []): Promise<ThreadOutcome<Value>> {
    if (!(await this.#enter())) return { state: 'refused' };
    try {
      signal.throwIfAborted();
      return await this.#runInThread(task, signal, transfer);
    } finally {
      this.#leave();
    }
  }

  async #runInThread(task: Task, signal: AbortSignal, transfer: TransferListItem[]): Promise<ThreadOutcome<Value>> {
    const worker = new Worker(this.#file, {
      workerData: task,
      transferList: transfer,
      resourceLimits: MEMORY_LIMITS,
      // The thread sees none of our secrets and loads nothing that was loaded into the process from outside; what
      // its libraries print is nobody's.
      env: {},
      execArgv: [],
      stdout: true,
      stderr: true,
    });
    try {
      return await outcomeOf<Value>(worker, this.limits.timeoutMs, signal);
    } finally {
      await worker.terminate();
    }
  }

  /** Whether there is a place; resolves when there is one. */
  async #enter(): Promise<boolean> {
    const { maxThreads, maxWaiting } = this.limits;
    if (this.#running < maxThreads) {
      this.#running += 1;
      return true;
    }
    if (this.#waiting.length >= maxWaiting) return false;
    // Whoever leaves hands its place over.
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return true;
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running -= 1;
    else next();
  }
}

async function outcomeOf<T>(worker: Worker, timeoutMs: number, signal: AbortSignal): Promise<ThreadOutcome<T>> {
  return await new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve({ state: 'timeout' }), timeoutMs);
    const onAbort = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    worker.once('message', (value: T) => resolve({ state: 'done', value }));
    worker.once('error', (cause) => resolve({ state: 'broken', cause }));
    worker.once('exit', () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      resolve({ state: 'broken' });
    });
  });
}
