import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { root } from '../../scripts/checkout';
import type { TestModel } from './catalogue';
import type { Announcement } from './upstream-process';
import type { UpstreamCall, UpstreamCounts, UpstreamScript } from './upstream-script';

export type { Behaviour, UpstreamCall, UpstreamCounts, UpstreamScript } from './upstream-script';

const EXIT_WITH_PARENT = join(root, 'scripts/exit-with-parent.cjs');
const RUN_TYPESCRIPT = join(root, 'libs/platform/src/testing/typescript-register.cjs');

/** The arguments of Node that run the module beside this one: its source under jest, its output from dist. */
function moduleArguments(name: string): string[] {
  const built = join(__dirname, `${name}.js`);
  if (existsSync(built)) return [built];
  return ['-r', RUN_TYPESCRIPT, join(__dirname, `${name}.ts`)];
}

/** The upstream of the tests, in a process of its own that ends with this one. */
export class Upstream {
  private constructor(
    private readonly child: ChildProcess,
    readonly port: number,
  ) {}

  /** @param scripts by name; the name is the first part of the base URL */
  static async start(scripts: Readonly<Record<string, UpstreamScript>>): Promise<Upstream> {
    const child = spawn(process.execPath, ['-r', EXIT_WITH_PARENT, ...moduleArguments('upstream-process')], {
      env: { PATH: process.env.PATH },
      // Its stdin is the pipe by which it notices that we are gone.
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const line = once(createInterface({ input: child.stdout! }), 'line') as Promise<[string]>;
    const exit = once(child, 'exit').then(([code]) => {
      throw new Error(`the upstream ended with code ${code}`);
    });
    const [text] = await Promise.race([line, exit]);
    const upstream = new Upstream(child, (JSON.parse(text) as Announcement).port);
    // From here on its end is somebody's wish.
    exit.catch(() => undefined);
    for (const [name, script] of Object.entries(scripts)) await upstream.script(name, script);
    return upstream;
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** The `base_url` of a script for a catalogue. */
  baseUrl(script: string): string {
    return `http://127.0.0.1:${this.port}/${script}/v1`;
  }

  /** The models `tests/NAME` of a catalogue, one for each script, each at a provider of its own: `tests-NAME`. */
  models(
    scripts: Readonly<Record<string, UpstreamScript>>,
    prices: Pick<TestModel, 'pricing' | 'batchPricing'>,
  ): TestModel[] {
    return Object.keys(scripts).map((script) => ({
      slug: `tests/${script}`,
      provider: `tests-${script}`,
      baseUrl: this.baseUrl(script),
      ...prices,
    }));
  }

  /** Sets or replaces a script; calls from now on follow it. */
  async script(name: string, script: UpstreamScript): Promise<void> {
    await this.ask('PUT', `/scripts/${name}`, JSON.stringify(script));
  }

  /** Every call whose prompt carried a marker, in order of arrival. */
  async calls(): Promise<UpstreamCall[]> {
    return (await this.ask('GET', '/log')) as UpstreamCall[];
  }

  async counts(): Promise<UpstreamCounts> {
    return (await this.ask('GET', '/counts')) as UpstreamCounts;
  }

  /** Resolves at the moment of call number `calls`, counted from the last `forget`. */
  async untilCalls(calls: number): Promise<void> {
    await this.ask('GET', `/counts/${calls}`);
  }

  async forget(): Promise<void> {
    await this.ask('DELETE', '/log');
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exited;
  }

  private async ask(method: string, path: string, body?: string): Promise<unknown> {
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`, { method, ...(body && { body }) });
    if (!response.ok) throw new Error(`the upstream answered ${response.status} to ${method} ${path}`);
    return response.json();
  }
}
