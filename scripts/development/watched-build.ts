import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import type { AppBundle } from '../bundle-apps.mjs';

const COMPILER = 'node_modules/typescript/bin/tsc';
const COMPILED = /Found (\d+) errors?\. Watching for file changes\./;
/** Matches the compiler's own messages; all other lines are errors in the sources. */
const PROGRESS = /^(?:\d{1,2}:\d{2}:\d{2} [AP]M - .*)?$/;

/**
 * Compiles changed files and rebuilds the files of the apps, until it is closed. The compiler and the bundler keep what
 * they have read, so a change takes a second instead of ten.
 */
export class WatchedBuild {
  #compiler: ChildProcess | undefined;
  readonly #bundles = new Map<string, AppBundle>();
  #errors: string[] = [];
  #isClosed = false;
  #running: Promise<void> = Promise.resolve();
  readonly #watching = Promise.withResolvers<void>();

  constructor(
    private readonly root: string,
    private readonly open: (appName: string) => Promise<AppBundle>,
    private readonly appNames: readonly string[],
    private readonly say: (line: string) => void,
    /** Called with the apps whose files changed; awaited before the next change is handled. */
    private readonly onChange: (names: readonly string[]) => Promise<void>,
  ) {}

  /**
   * Resolves when changes are watched for: after the first compilation, because a change during it may be missed. Also
   * resolves if the compiler ends.
   */
  async start(): Promise<void> {
    for (const name of this.appNames) this.#bundles.set(name, await this.open(name));
    await this.#bundle();
    if (this.#isClosed) return;
    const args = [join(this.root, COMPILER), '-p', 'tsconfig.build.json', '--watch', '--preserveWatchOutput'];
    const compiler = spawn(process.execPath, args, { cwd: this.root, stdio: ['ignore', 'pipe', 'inherit'] });
    this.#compiler = compiler;
    compiler.once('exit', (code) => {
      if (!this.#isClosed) this.say(`The compiler ended with code ${code}; changes are no longer seen.`);
      this.#watching.resolve();
    });
    compiler.once('error', (error) => {
      this.say(`The compiler could not be started: ${error.message}`);
      this.#watching.resolve();
    });
    createInterface({ input: compiler.stdout }).on('line', (line) => this.#take(line));
    await this.#watching.promise;
    await this.#running;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#compiler?.kill();
    await this.#running;
    await Promise.all([...this.#bundles.values()].map((bundle) => bundle.close()));
  }

  #take(line: string): void {
    const [, errors] = COMPILED.exec(line) ?? [];
    if (errors === undefined) {
      if (!PROGRESS.test(line)) this.#errors.push(line);
      return;
    }
    const found = this.#errors;
    this.#errors = [];
    if (errors === '0') this.#running = this.#running.then(() => this.#takeOver());
    else this.say(`${found.join('\n')}\nThe apps go on with what was built before.`);
    this.#watching.resolve();
  }

  async #takeOver(): Promise<void> {
    if (this.#isClosed) return;
    try {
      const changed = await this.#bundle();
      if (changed.length > 0) await this.onChange(changed);
    } catch (error) {
      this.say(error instanceof Error ? error.message : String(error));
    }
  }

  /** The apps whose files changed. */
  async #bundle(): Promise<string[]> {
    const written = await Promise.all(
      [...this.#bundles].map(async ([name, bundle]) => ({ name, isOther: await bundle.write() })),
    );
    return written.filter(({ isOther }) => isOther).map(({ name }) => name);
  }
}
