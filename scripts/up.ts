/**
 * `npm run up`: all of Sluice on this machine. Services, migrations, five apps, the sandbox provider, a demo workspace;
 * then it supervises the apps until Ctrl-C. `--check` ends when everything is ready. `npm run dev` is `--watch`: it
 * compiles changed files and restarts the affected apps.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { openBundle } from './bundle-apps.mjs';
import { loadDotEnv, root, runMain, say, stateFolder } from './checkout';
import { APP_NAMES } from './development/app-specs';
import { catalogFor } from './development/catalog-copy';
import { Installation } from './development/installation';
import { planPorts } from './development/port-plan';
import { developmentSecrets } from './development/secrets';
import { onShutdownSignal } from './development/shutdown-signals';
import { StateFiles, type DevelopmentState } from './development/state-files';
import { WatchedBuild } from './development/watched-build';
import { findServices, serviceEnvironment, stopServices, type Services } from './services/find-services';
import { withOwnPlaces } from './services/own-places';

const secondsSince = (startedAt: number): string => ((performance.now() - startedAt) / 1_000).toFixed(1);

function welcome({ base_url, api_key, management_key }: DevelopmentState): string {
  const bearer = `-H 'Authorization: Bearer ${api_key}' -H 'Content-Type: application/json'`;
  const chat = JSON.stringify({ model: 'sandbox/chat', messages: [{ role: 'user', content: 'Hello!' }] });
  const batch = JSON.stringify({
    endpoint: '/v1/chat/completions',
    model: 'sandbox/chat',
    requests: [{ custom_id: 'first', body: { messages: [{ role: 'user', content: 'Hello!' }] } }],
  });
  return [
    '',
    `  base URL        ${base_url}`,
    `  API key         ${api_key}`,
    `  management key  ${management_key}`,
    '',
    `curl ${base_url}/chat/completions ${bearer} -d '${chat}'`,
    '',
    `curl ${base_url}/batches ${bearer} -d '${batch}'`,
    '',
  ].join('\n');
}

async function prepare(services: Services, files: StateFiles): Promise<Installation> {
  const places = await withOwnPlaces(services, say);
  const ports = await planPorts(process.env, say);
  const plan = {
    root,
    stateFolder,
    environment: process.env,
    serviceUrls: serviceEnvironment(places),
    ports,
    secrets: developmentSecrets(join(stateFolder, 'secrets.json')),
    catalogPath: process.env.CATALOG_PATH || catalogFor(root, stateFolder, ports.sandbox),
  };
  return new Installation(plan, files, say);
}

/** Everything that was started, in the order in which it is stopped. */
class Run {
  #services: Promise<Services> | undefined;
  #installation: Installation | undefined;
  #build: WatchedBuild | undefined;
  #stopped = false;
  readonly #files = new StateFiles(stateFolder);

  async start(): Promise<DevelopmentState> {
    if (!this.#files.claim()) say('Another `up` of this checkout is running; .sluice/dev.json stays with that one.');
    this.#services = findServices({ root, environment: process.env, say });
    const installation = await prepare(await this.#services, this.#files);
    if (this.#stopped) throw new Error('stopped while starting');
    this.#installation = installation;
    say('Starting the apps …');
    return installation.start();
  }

  /** Until `stop`, apps whose files change are restarted. */
  async watch(): Promise<void> {
    const replace = async (names: readonly string[]): Promise<void> => {
      const startedAt = performance.now();
      await this.#installation?.replace(names);
      if (!this.#stopped) say(`${names.join(', ')} ready after ${secondsSince(startedAt)} s.`);
    };
    this.#build = new WatchedBuild(root, (name) => openBundle(join(root, 'dist'), name), APP_NAMES, say, replace);
    await this.#build.start();
  }

  /** Waits for servers that are still starting, because no started server may keep running. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#installation?.stop();
    await this.#build?.close();
    const found = await Promise.allSettled([this.#services]);
    const services = found.flatMap((one) => (one.status === 'fulfilled' ? Object.values(one.value ?? {}) : []));
    await stopServices(services);
    this.#files.release(services.every((service) => service.stop === undefined));
  }

  hurry(): void {
    this.#installation?.kill();
  }
}

async function main(): Promise<void> {
  const unknown = process.argv.slice(2).filter((argument) => !['--check', '--watch'].includes(argument));
  if (unknown.length > 0) throw new Error(`up takes --check, --watch and nothing else, not ${unknown.join(' ')}`);
  const startedAt = performance.now();
  loadDotEnv();
  mkdirSync(stateFolder, { recursive: true });

  const run = new Run();
  const interrupted = new Promise<'interrupted'>((done) => {
    onShutdownSignal(
      (why) => {
        say(`\nStopping (${why}) …`);
        done('interrupted');
      },
      () => run.hurry(),
    );
  });
  try {
    const state = await Promise.race([run.start(), interrupted]);
    if (state === 'interrupted') return;
    process.stdout.write(`${welcome(state)}\n`);
    say(`Ready after ${secondsSince(startedAt)} s.`);
    if (process.argv.includes('--check')) return;
    if (process.argv.includes('--watch')) {
      if ((await Promise.race([run.watch(), interrupted])) === 'interrupted') return;
      say('Apps whose sources change are started again.');
    }
    say('Logs are in .sluice/logs. Ctrl-C stops everything that was started here.');
    await interrupted;
  } finally {
    await run.stop();
  }
}

runMain(main);
