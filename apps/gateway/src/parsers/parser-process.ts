import { spawn, type ChildProcess, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, realpathSync } from 'node:fs';
import { dirname, extname, join, sep } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { AnswerReader } from './answer-reader';
import { limitProcess } from './process-limits';

/** The parsers, by the names of their files. */
export const PARSERS = ['pdf-text', 'html-text', 'json-repair', 'pattern-match', 'word-match'] as const;
export type ParserName = (typeof PARSERS)[number];

/** Work for a parser. */
export interface ParserTask {
  readonly parser: ParserName;
  readonly settings: object;
  readonly payload: Uint8Array;
  /** From the moment that a child has it. */
  readonly timeoutMs: number;
}

/** What came of a task in its child. */
export type TaskOutcome =
  | { readonly state: 'done'; readonly value: unknown }
  | { readonly state: 'timeout' }
  /** It took too much memory, or its child ended or answered nonsense. */
  | { readonly state: 'broken'; readonly cause?: unknown }
  /** The child was gone before it had the task whole: the task is not what ended it. */
  | { readonly state: 'lost' };

/** Longer than a child takes on a machine that has much else to do. */
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
/** The whole environment: nothing of the gateway's is inherited. One thread for zlib, one place for small memory. */
const ENVIRONMENT = { UV_THREADPOOL_SIZE: '1', MALLOC_ARENA_MAX: '1' };

type Child = ChildProcessByStdio<Writable, Readable, null>;

/** One child with all parsers, which works on one task at a time. A child that has failed at one is not used again. */
export class ParserProcess {
  /** Tasks it has worked on, and how long it took for them. */
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
    // Against its types, a child has no streams when no file descriptor is free. It reports the cause in a moment.
    if (!hasStreams(child)) {
      const [cause] = (await once(child, 'error')) as [Error];
      throw new Error('A child for parsers cannot be started', { cause });
    }
    // A child that is gone shows at its answer. And none keeps the gateway from ending.
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

  /** Never rejects. Unless the outcome is `done`, the child is killed. */
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

  /** Kills it, and resolves when it is gone. */
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
    // A timer that is due is asked after what has come, which on a busy machine may be everything.
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

/** The child says `{ value }`, or `{ isExhausted: true }` when its parser had no memory and went on without. */
function readOutcome(outcome: TaskOutcome): TaskOutcome {
  if (outcome.state !== 'done') return outcome;
  const { value: answer } = outcome;
  if (typeof answer === 'object' && answer !== null && 'value' in answer) return { state: 'done', value: answer.value };
  return { state: 'broken', cause: hasFlag(answer, 'isExhausted') ? undefined : new Error('No answer of a parser') };
}

function hasFlag(answer: unknown, name: string): boolean {
  return typeof answer === 'object' && answer !== null && (answer as Record<string, unknown>)[name] === true;
}

/** A file of the child, in the form that this one has: compiled, or in TypeScript that Node strips of its types. */
function childFile(): string {
  return join(__dirname, `parser-child${extname(__filename)}`);
}

/** It may read this folder and packages until it has loaded them; then it gives that up. */
function rightsOf(): string[] {
  const here = realpathSync(__dirname);
  return ['--permission', ...[here, ...packageFolders(here)].map((folder) => `--allow-fs-read=${folder}${sep}`)];
}

/** Where Node looks for packages from a folder. */
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
