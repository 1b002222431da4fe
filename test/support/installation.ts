import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PartyName } from '@libs/contracts';
import { createDataSource, Database } from '@libs/persistence';
import { appUrlOf, type TestDatabase } from '@libs/persistence/testing';
import { root } from '../../scripts/checkout';
import { AppLog } from '../../scripts/development/app-log';
import { answersReady, waitUntilReady } from '../../scripts/development/readiness';
import { brokerKeysOf, developmentSecrets, type DevelopmentSecrets } from '../../scripts/development/secrets';
import { SupervisedApp } from '../../scripts/development/supervised-app';
import { freePorts } from '../../scripts/services/ports';
import { urlOf, type InstallationBroker } from './broker';
import { PROVIDER_KEY_VARIABLE } from './catalogue';
import { ApiClient } from './client';
import { eventually } from './eventually';
import {
  appsOf,
  entryOf,
  forgetRedisKeys,
  plantSeed,
  REDIS_URL,
  startPlaces,
  urlsForApps,
  type AppName,
  type InstallationOptions,
  type Seed,
  type ServiceUrls,
} from './installation-parts';

export { APP_NAMES, REDIS_URL, type AppName, type InstallationOptions, type Seed } from './installation-parts';

/** The key that the apps send to every provider of the test's catalogue. */
export const PROVIDER_KEY = `test-upstream-${'k'.repeat(24)}`;

const READY_TIMEOUT_MS = 150_000;
const STOP_GRACE_MS = 15_000;
/** An app that keeps dying before it was ever ready will not be cured by waiting. */
const HOPELESS_DEATHS = 3;
const CATALOGUE_TAKEN = 'The changed catalogue is in use';
/** The apps that read the catalogue. */
const ROUTING: readonly string[] = ['gateway', 'batch-worker', 'video-worker'];
const RESTART_TIMINGS = { firstDelayMs: 500, longestDelayMs: 500, settledAfterMs: 0 };

interface LaunchedApp {
  readonly app: AppName;
  readonly name: string;
  readonly lives: readonly Readonly<Record<string, string>>[];
}

/** An app under supervision; `another` is a second process of the same app. */
interface RunningApp {
  readonly app: SupervisedApp;
  readonly healthPort: number;
  readonly log: AppLog;
  /** Catalogues that it took after its start. */
  changesOfCatalogue: number;
  /** Deaths that a test brought about. */
  kills: number;
}

/**
 * The whole system as processes, built from `dist/`, for tests that look at it from outside: a database, a broker
 * and a Redis key prefix of its own, a catalogue of its own, a demo workspace. An app that dies is started again
 * after half a second. Everything ends with `stop`, and when this process dies, whatever it dies of.
 */
export class Installation {
  readonly #running = new Map<string, RunningApp>();
  readonly #redisPrefix = `test-${randomBytes(6).toString('hex')}:`;
  #seed: Seed | undefined;
  #isAltered = false;

  private constructor(
    private readonly options: InstallationOptions,
    private readonly parts: {
      readonly folder: string;
      readonly testDatabase: TestDatabase;
      readonly database: Database;
      readonly closeDatabase: () => Promise<void>;
      readonly broker: InstallationBroker;
      readonly secrets: DevelopmentSecrets;
      readonly gatewayPort: number;
      readonly urls: ServiceUrls;
    },
  ) {}

  /** Resolves when every app is ready and the demo workspace is there. @throws Error with the last log lines */
  static async start(options: InstallationOptions): Promise<Installation> {
    const missing = appsOf(options).filter((name) => !existsSync(entryOf(name)));
    if (missing.length > 0) throw new Error(`not built: ${missing.join(', ')}; npm run build does it`);
    const folder = mkdtempSync(join(tmpdir(), 'sluice-test-'));
    writeFileSync(join(folder, 'catalogue.yaml'), options.catalogue);
    const { broker, testDatabase } = await startPlaces(folder, options.ownBroker === true);
    const [gatewayPort = 0] = await freePorts(1);
    const dataSource = createDataSource({
      url: testDatabase.url,
      poolSize: 2,
      applicationName: 'test',
      connectTimeoutMs: READY_TIMEOUT_MS,
    });
    await dataSource.initialize();
    const installation = new Installation(options, {
      folder,
      testDatabase,
      database: new Database(dataSource),
      closeDatabase: () => dataSource.destroy(),
      broker,
      secrets: developmentSecrets(join(folder, 'secrets.json')),
      gatewayPort,
      urls: await urlsForApps(options, { database: testDatabase.url, broker: broker.url, redis: REDIS_URL }),
    });
    try {
      await installation.#boot();
      return installation;
    } catch (error) {
      await installation.stop();
      throw error;
    }
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${this.parts.gatewayPort}/api/v1`;
  }

  get databaseUrl(): string {
    return this.parts.testDatabase.url;
  }

  /** For looking at what the apps stored. */
  get database(): Database {
    return this.parts.database;
  }

  get broker(): InstallationBroker {
    return this.parts.broker;
  }

  /** Who a party is on the broker, and the way there. */
  brokerEnvironmentOf(party: PartyName): Readonly<Record<string, string>> {
    const { broker, secrets } = this.parts;
    return { AMQP_URL: urlOf(party, broker, broker.url), ...brokerKeysOf(party, secrets) };
  }

  /** What is in Redis for this installation begins with it. */
  get redisKeyPrefix(): string {
    return this.#redisPrefix;
  }

  /** Where the apps' logs are. */
  get folder(): string {
    return this.parts.folder;
  }

  /** The demo workspace. @throws Error when there is no auth app to make it */
  get seed(): Seed {
    if (this.#seed === undefined) throw new Error('an installation without auth has no workspace');
    return this.#seed;
  }

  /** A client with the demo workspace's API key, or with another. The caller closes it. */
  client(apiKey: string = this.seed.apiKey): ApiClient {
    return new ApiClient(this.baseUrl, apiKey);
  }

  /** The process of a running app. @throws Error while it is down */
  pidOf(name: string): number {
    const pid = this.#find(name).app.pid;
    if (pid === undefined) throw new Error(`${name} is down`);
    return pid;
  }

  /** Whether there is a process of a running app; one that died comes back after a moment. */
  isUp(name: string): boolean {
    return this.#find(name).app.pid !== undefined;
  }

  /** Where a running app answers for its health and its metrics. */
  healthUrlOf(name: string): string {
    return `http://127.0.0.1:${this.#find(name).healthPort}`;
  }

  /** How often an app died unasked. */
  deathsOf(name: string): number {
    return this.#find(name).app.deaths;
  }

  /** Ends an app without a chance to tidy up; it is started again by itself. */
  async kill9(name: string): Promise<void> {
    this.#isAltered = true;
    const running = this.#find(name);
    const { app } = running;
    const deaths = app.deaths;
    running.kills += 1;
    process.kill(this.pidOf(name), 'SIGKILL');
    await eventually(`${name} dies`, 10_000, () => (app.deaths > deaths ? true : undefined));
  }

  /**
   * Starts an app that was stopped, or one more process of it under another name, and waits until it is ready.
   *
   * @param lives what it has in its environment besides, from death to death; the last one stays
   */
  async startApp(
    app: AppName,
    name: string = app,
    lives: readonly Readonly<Record<string, string>>[] = [{}],
  ): Promise<void> {
    if (name !== app || lives.length > 1 || Object.keys(lives[0]!).length > 0) this.#isAltered = true;
    await this.#launch([{ app, name, lives }]);
  }

  /** Whether all its apps run as they were started, so that another spec can use it. */
  get isIntact(): boolean {
    const apps = [...this.#running.values()];
    return !this.#isAltered && apps.every(({ app }) => app.pid !== undefined && app.deaths === 0);
  }

  /** Makes it ready for another spec: with these apps and this catalogue, and a demo workspace of its own. */
  async reuse(apps: readonly AppName[], catalogue: string): Promise<void> {
    await forgetRedisKeys(this.#redisPrefix);
    await this.#replaceCatalogue(catalogue);
    const missing = apps.filter((app) => !this.#running.has(app));
    if (missing.length > 0) await this.#launch(missing.map((app) => ({ app, name: app, lives: [{}] })));
    await this.#plantSeed();
  }

  /** Asks an app to end, and waits until it has; it stays away. */
  async stopApp(name: string): Promise<void> {
    const { app, log } = this.#find(name);
    await app.stop(STOP_GRACE_MS);
    this.#running.delete(name);
    log.close();
  }

  /** Until every app answers that it is ready. */
  async untilReady(): Promise<void> {
    const checks = new Map([...this.#running].map(([name, { healthPort }]) => [name, () => answersReady(healthPort)]));
    const isHopeless = (): boolean =>
      [...this.#running.values()].some(({ app, kills }) => app.deaths - kills >= HOPELESS_DEATHS);
    const missing = await waitUntilReady(checks, READY_TIMEOUT_MS, isHopeless);
    if (missing.length === 0) return;
    throw new Error(`not ready: ${missing.map((name) => `${name}\n${this.lastLines(name).join('\n')}\n`).join(', ')}`);
  }

  /** The end of an app's log. */
  lastLines(name: string): readonly string[] {
    return this.#find(name).app.lastLines.slice(-20);
  }

  /** Takes every step, whatever became of the one before. @throws AggregateError of the steps that failed */
  async stop(): Promise<void> {
    const steps: readonly (() => Promise<unknown>)[] = [
      () => Promise.all([...this.#running.keys()].map((name) => this.stopApp(name))),
      () => forgetRedisKeys(this.#redisPrefix),
      () => this.parts.closeDatabase(),
      () => this.parts.broker.stop(),
      () => this.parts.testDatabase.drop(),
    ];
    const errors: unknown[] = [];
    for (const step of steps) await step().catch((error: unknown) => errors.push(error));
    rmSync(this.parts.folder, { recursive: true, force: true });
    if (errors.length > 0) throw new AggregateError(errors, 'the installation was not tidied away');
  }

  async #boot(): Promise<void> {
    const apps = appsOf(this.options);
    await this.#launch(apps.map((app) => ({ app, name: app, lives: [{}] })));
    if (apps.includes('auth')) await this.#plantSeed();
  }

  async #plantSeed(): Promise<void> {
    const operator = { DATABASE_URL: this.parts.urls.database, ...this.brokerEnvironmentOf('cli') };
    this.#seed = await plantSeed({ ...this.#environmentOf('auth'), ...operator });
  }

  /** Resolves when every app uses it. */
  async #replaceCatalogue(text: string): Promise<void> {
    const file = join(this.folder, 'catalogue.yaml');
    if (readFileSync(file, 'utf8') === text) return;
    const names = [...this.#running.keys()].filter((name) => ROUTING.includes(name));
    const taken = (): number[] => names.map((name) => this.#find(name).changesOfCatalogue);
    const before = taken();
    writeFileSync(`${file}.next`, text);
    renameSync(`${file}.next`, file);
    for (const name of names) process.kill(this.pidOf(name), 'SIGHUP');
    await eventually('every app uses the catalogue', READY_TIMEOUT_MS, () =>
      taken().every((count, at) => count > before[at]!) ? true : undefined,
    );
  }

  async #launch(apps: readonly LaunchedApp[]): Promise<void> {
    const ports = await freePorts(apps.length);
    for (const [index, { app, name, lives }] of apps.entries()) {
      if (this.#running.has(name)) throw new Error(`${name} runs already`);
      const healthPort = ports[index] ?? 0;
      const onLine = (line: string): void => {
        if (line.includes(CATALOGUE_TAKEN)) this.#find(name).changesOfCatalogue += 1;
      };
      const log = new AppLog({ name, file: join(this.folder, `${name}.log`), say: () => undefined, onLine });
      const common = { LISTEN_ADDRESS: '127.0.0.1', ...this.#environmentOf(app), HEALTH_PORT: String(healthPort) };
      const environment: Record<string, string> = { ...common, ...lives[0] };
      const spec = { name, entry: entryOf(app), folder: root, environment };
      const onChange = ({ deaths }: SupervisedApp, event: 'started' | 'died'): void => {
        if (event === 'died') replaceAll(environment, { ...common, ...(lives[deaths] ?? lives.at(-1)) });
      };
      const supervised = new SupervisedApp(spec, log, onChange, RESTART_TIMINGS);
      this.#running.set(name, { app: supervised, healthPort, log, changesOfCatalogue: 0, kills: lives.length - 1 });
      supervised.start();
    }
    await this.untilReady();
  }

  /** Nothing of the caller's environment: what the apps read is what the test says. */
  #environmentOf(app: AppName): Record<string, string> {
    const { folder, secrets, gatewayPort, urls, broker } = this.parts;
    return {
      PATH: process.env.PATH ?? '',
      HOME: folder,
      NODE_ENV: 'production',
      // Five processes of every installation load the same thousand modules.
      NODE_COMPILE_CACHE: join(root, '.sluice/compile-cache'),
      DATABASE_URL: appUrlOf(app, urls.database),
      AMQP_URL: urlOf(app, broker, urls.broker),
      ...brokerKeysOf(app, secrets),
      REDIS_URL: urls.redis,
      REDIS_KEY_PREFIX: this.#redisPrefix,
      CATALOG_PATH: join(folder, 'catalogue.yaml'),
      BLOB_DIR: join(folder, 'blobs'),
      [PROVIDER_KEY_VARIABLE]: PROVIDER_KEY,
      DRAIN_DELAY_MS: '0',
      LOG_LEVEL: 'info',
      ...(app === 'gateway' && { PORT: String(gatewayPort), PUBLIC_URL: `http://127.0.0.1:${gatewayPort}` }),
      ...(app === 'auth' && { TOKEN_SIGNING_KEYS: secrets.TOKEN_SIGNING_KEYS }),
      ...(app === 'credentials' && { CREDENTIALS_KEYRING: secrets.CREDENTIALS_KEYRING }),
      ...this.options.environment,
      ...this.options.environmentOf?.[app],
    };
  }

  #find(name: string): RunningApp {
    const running = this.#running.get(name);
    if (running === undefined) throw new Error(`${name} was not started`);
    return running;
  }
}

function replaceAll(environment: Record<string, string>, next: Readonly<Record<string, string>>): void {
  for (const name of Object.keys(environment)) delete environment[name];
  Object.assign(environment, next);
}
