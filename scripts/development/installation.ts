import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { lastLineOf, runCommand } from '../services/commands';
import { AppLog } from './app-log';
import { APP_NAMES, SANDBOX_NAME, appSpecs, commonEnvironment, type DevelopmentPlan } from './app-specs';
import { acceptsConnections, answersReady, waitUntilReady } from './readiness';
import { databaseLogins } from './secrets';
import type { DevelopmentState, StateFiles } from './state-files';
import { SupervisedApp } from './supervised-app';

const READY_TIMEOUT_MS = 90_000;
const STOP_GRACE_MS = 30_000;
/** For an app that is replaced: its unfinished work is repeated by the next one, as after a crash. */
const REPLACE_GRACE_MS = 1_000;
const SCRIPT_TIMEOUT_MS = 120_000;
/** After this many deaths before it was ever ready, an app is no longer waited for. */
const HOPELESS_DEATHS = 3;

interface Seed {
  readonly api_key: string;
  readonly management_key: string;
  readonly workspace_id: string;
}

/** The running development installation: migrated, seeded, five apps and the sandbox provider under supervision. */
export class Installation {
  readonly #apps: SupervisedApp[];
  #stopped = false;
  #seed: Seed | undefined;

  constructor(
    private readonly plan: DevelopmentPlan,
    private readonly files: StateFiles,
    private readonly say: (line: string) => void,
  ) {
    this.#apps = appSpecs(plan).map((spec) => {
      if (!existsSync(spec.entry)) throw new Error(`${spec.name} has not been built: ${spec.entry} is missing`);
      const file = join(plan.stateFolder, 'logs', `${spec.name}.log`);
      const log = new AppLog({ name: spec.name, file, say });
      return new SupervisedApp(spec, log, (app, event, what) => this.changed(app, event, what));
    });
  }

  /** Starts everything. @throws Error with the last log lines of what is not ready */
  async start(): Promise<DevelopmentState> {
    const { secrets, serviceUrls } = this.plan;
    await this.runScript('migrate', [], { DATABASE_LOGINS: databaseLogins(serviceUrls.DATABASE_URL, secrets) });
    if (this.#stopped) throw new Error('stopped while starting');
    this.files.writeServices(this.plan.serviceUrls);
    for (const app of this.#apps) app.start();
    await this.untilReady();
    const output = await this.runScript('seed', ['--file', join(this.plan.stateFolder, 'seed.json')]);
    if (this.#stopped) throw new Error('stopped while starting');
    this.#seed = JSON.parse(lastLineOf(output)) as Seed;
    return this.writeState(this.#seed);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#apps.map((app) => app.stop(STOP_GRACE_MS)));
  }

  /** Restarts apps with the latest build. @throws Error with the last log lines of one that is not ready */
  async replace(names: readonly string[]): Promise<void> {
    const replaced = this.#apps.filter(({ name }) => names.includes(name));
    await Promise.all(replaced.map((app) => app.replace(REPLACE_GRACE_MS)));
    await this.untilReady();
  }

  kill(): void {
    for (const app of this.#apps) app.kill();
  }

  private async untilReady(): Promise<void> {
    const { health, sandbox } = this.plan.ports;
    const checks = new Map<string, () => Promise<boolean>>(
      APP_NAMES.map((name) => [name, () => answersReady(health[name] ?? 0)]),
    );
    checks.set(SANDBOX_NAME, () => acceptsConnections(sandbox));
    const isHopeless = (): boolean => this.#stopped || this.#apps.some((app) => app.deaths >= HOPELESS_DEATHS);
    const missing = await waitUntilReady(checks, READY_TIMEOUT_MS, isHopeless);
    if (missing.length === 0) return;
    const tails = this.#apps
      .filter((app) => missing.includes(app.name))
      .map((app) => `--- the last lines of ${app.name}:\n${app.lastLines.slice(-15).join('\n')}`);
    throw new Error(`Not ready: ${missing.join(', ')}.\n${tails.join('\n')}`);
  }

  private async runScript(
    name: 'migrate' | 'seed',
    args: readonly string[],
    own: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    const script = join(this.plan.root, 'dist/scripts', `${name}.js`);
    const { ok, stdout, output } = await runCommand(process.execPath, ['--enable-source-maps', script, ...args], {
      folder: this.plan.root,
      timeoutMs: SCRIPT_TIMEOUT_MS,
      environment: { ...commonEnvironment(this.plan), ...own },
    });
    if (!ok) throw new Error(`${name} failed:\n${output.trimEnd()}`);
    return stdout;
  }

  private changed(app: SupervisedApp, event: 'started' | 'died', what: string): void {
    if (event === 'died' || app.deaths > 0) this.say(`[${app.name}] ${what}`);
    if (event === 'started' && this.#seed !== undefined) this.writeState(this.#seed);
  }

  private writeState({ api_key, management_key, workspace_id }: Seed): DevelopmentState {
    const running = this.#apps.flatMap((app) => (app.pid === undefined ? [] : [[app.name, app.pid] as const]));
    const { ports } = this.plan;
    const base_url = `http://127.0.0.1:${ports.gateway}/api/v1`;
    const state = { base_url, api_key, management_key, workspace_id, pids: Object.fromEntries(running) };
    this.files.writeDevelopment(state);
    return state;
  }
}
