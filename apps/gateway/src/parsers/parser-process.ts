import { spawn, type ChildProcess, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, realpathSync } from 'node:fs';
import { dirname, extname, join, sep } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { AnswerReader } from './answer-reader';
import { limitProcess } from './process-limits';

/** The parsers, by the names of the files that implement them. */
export const PARSERS = ['pdf-text', 'html-text', 'json-repair', 'pattern-match', 'word-match'] as const;
export type ParserName = (typeof PARSERS)[number];

/** Work for a parser. */
export interface ParserTask {
  readonly parser: ParserName;
  readonly settings: object;
  readonly payload: Uint8Array;
  /** Time limit from the moment when a child has received the task. */
  readonly timeoutMs: number;
}

/** The result of a task in its child. */
export type TaskOutcome =
  | { readonly state: 'done'; readonly value: unknown }
  | { readonly state: 'timeout' }
  /** The child used too much memory, ended, or returned an invalid answer. */
  | { readonly state: 'broken'; readonly cause?: unknown }
  /** The child ended before it had received the whole task, so the task is not the cause. */
  | { readonly state: 'lost' };

/** Longer than the start of a child takes on a busy machine. */
const START_TIMEOUT_MS = 20_000;

const V8_FLAGS = [
  '--max-old-space-size=32',
  '--max-semi-space-size=1',
  '--expose-gc',
  '--v8-pool-size=0',
  '--disallow-code-generation-from-strings',
  '--no-warnings',
  '--disable-sigusr1',
];
/**
 * The whole environment of a child; nothing of the gateway's is inherited. One thread for zlib, one malloc arena to
 * save memory.
 */
const ENVIRONMENT = { UV_THREADPOOL_SIZE: '1', MALLOC_ARENA_MAX: '1' };

type Child = ChildProcessByStdio<Writable, Readable, null>;

/** One child process with all parsers, which runs one task at a time. After a failed task it is not used again. */
export class ParserProcess {
  /** Number of its finished tasks, and the time they took. */
  tasks = 0;
  busyMs = 0;
  readonly #ended: Promise<void>;
  #isAlive = true;

  private constructor(
    private readonly child: Child,
    private readonly answers: AnswerReader,
  ) {
    const end = Promise.withResolvers<void>();
    const onEnd = (cause?: unknown): void => {
      this.#isAlive = false;
      this.answers.end(cause);
      end.resolve();
    };
    child.once('exit', () => onEnd());
    child.once('error', onEnd);
    this.#ended = end.promise;
  }

  /** Resolves when the child has loaded its parsers and its limits are set. @throws Error when it cannot be started */
  static async start(parsers: readonly ParserName[] = PARSERS): Promise<ParserProcess> {
    const child: ChildProcess = spawn(process.execPath, [...rightsOf(), ...V8_FLAGS, childFile(), ...parsers], {
      env: ENVIRONMENT,
      cwd: sep,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    // Contrary to its types, a child has no streams if no file descriptor is free. It reports the cause a moment later.
    if (!hasStreams(child)) {
      const [cause] = (await once(child, 'error')) as [Error];
      throw new Error('A child for parsers cannot be started', { cause });
    }
    // A dead child is detected by its missing answer. These handles do not keep the gateway process alive.
    child.stdin.on('error', () => undefined);
    unref(child);
    const started = new ParserProcess(child, new AnswerReader(child.stdout));
    try {
      const outcome = await started.#answerWithin(START_TIMEOUT_MS);
      if (outcome.state !== 'done' || !hasFlag(outcome.value, 'isReady')) {
        const cause = outcome.state === 'broken' ? outcome.cause : undefined;
        throw new Error(`A child for parsers did not start: ${outcome.state}`, { cause });
      }
      await limitProcess(child.pid!);
      return started;
    } catch (error) {
      started.kill();
      throw error;
    }
  }

  get pid(): number {
    return this.child.pid!;
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** Never rejects. Unless the result is `done`, the child is killed. */
  async run({ parser, settings, payload, timeoutMs }: ParserTask, signal: AbortSignal): Promise<TaskOutcome> {
    const startMs = performance.now();
    const onAbort = (): void => this.kill();
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) this.kill();
    const outcome = await this.#work(Buffer.from(JSON.stringify({ parser, settings })), payload, startMs + timeoutMs);
    signal.removeEventListener('abort', onAbort);
    if (outcome.state !== 'done') this.kill();
    this.tasks += 1;
    this.busyMs += performance.now() - startMs;
    return outcome;
  }

  kill(): void {
    this.#isAlive = false;
    this.child.kill('SIGKILL');
  }

  /** Kills the child process; resolves when it has ended. */
  async end(): Promise<void> {
    this.kill();
    this.child.ref();
    await this.#ended;
  }

  async #work(head: Buffer, payload: Uint8Array, endMs: number): Promise<TaskOutcome> {
    if (!this.answers.isEmpty) return { state: 'lost' };
    this.#send(head, payload);
    const begun = await this.#answerWithin(endMs - performance.now());
    if (begun.state === 'timeout') return begun;
    if (begun.state !== 'done' || !hasFlag(begun.value, 'hasBegun')) return { state: 'lost' };
    return readOutcome(await this.#answerWithin(endMs - performance.now()));
  }

  #send(head: Buffer, payload: Uint8Array): void {
    const prefix = Buffer.alloc(8);
    prefix.writeUInt32BE(head.length, 0);
    prefix.writeUInt32BE(payload.length, 4);
    const { stdin } = this.child;
    stdin.write(prefix);
    stdin.write(head);
    stdin.write(payload);
  }

  async #answerWithin(timeoutMs: number): Promise<TaskOutcome> {
    // A timer that is due runs before pending input is read. On a busy machine the whole answer may be pending, so the
    // timeout is checked after reading.
    if (timeoutMs <= 0) return { state: 'timeout' };
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<TaskOutcome>((resolve) => {
      timer = setTimeout(() => resolve({ state: 'timeout' }), timeoutMs);
    });
    const answer = this.answers.next().then(
      (value): TaskOutcome => ({ state: 'done', value }),
      (cause: unknown): TaskOutcome => ({ state: 'broken', cause }),
    );
    try {
      return await Promise.race([answer, timeout]);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** The child answers `{ value }`, or `{ isExhausted: true }` if its parser ran out of memory and continued. */
function readOutcome(outcome: TaskOutcome): TaskOutcome {
  if (outcome.state !== 'done') return outcome;
  const { value: answer } = outcome;
  if (typeof answer === 'object' && answer !== null && 'value' in answer) return { state: 'done', value: answer.value };
  return { state: 'broken', cause: hasFlag(answer, 'isExhausted') ? undefined : new Error('No answer of a parser') };
}

function hasFlag(answer: unknown, name: string): boolean {
  return typeof answer === 'object' && answer !== null && (answer as Record<string, unknown>)[name] === true;
}

/**
 * Returns a file of the child in the same form as this file: compiled, or TypeScript, from which Node strips the types.
 */
function childFile(): string {
  return join(__dirname, `parser-child${extname(__filename)}`);
}

/**
 * Returns the child's permissions: it may read this folder and packages until it has loaded them, and then gives that
 * up.
 */
function rightsOf(): string[] {
  const here = realpathSync(__dirname);
  return ['--permission', ...[here, ...packageFolders(here)].map((folder) => `--allow-fs-read=${folder}${sep}`)];
}

/** Returns the folders in which Node looks for packages, starting from a folder. */
function packageFolders(folder: string): string[] {
  const parent = dirname(folder);
  const found = join(folder, 'node_modules');
  return [...(existsSync(found) ? [realpathSync(found)] : []), ...(parent === folder ? [] : packageFolders(parent))];
}

function hasStreams(child: ChildProcess): child is Child {
  return Boolean(child.stdin && child.stdout);
}

function unref(child: Child): void {
  child.unref();
  for (const stream of [child.stdin, child.stdout]) (stream as unknown as { unref(): void }).unref();
}
