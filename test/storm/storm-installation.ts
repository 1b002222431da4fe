import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createDataSource, Database, migrate } from '@libs/persistence';
import { appUrlOf, TEST_LOGINS } from '@libs/persistence/testing';
import { Client } from 'pg';
import { root } from '../../scripts/checkout';
import { freePorts } from '../../scripts/services/ports';
import { brokerKeysOf, developmentSecrets } from '../../scripts/development/secrets';
import { PROVIDER_KEY_VARIABLE } from '../support/catalogue';
import { plantSeed, type Seed } from '../support/installation-parts';
import { WebhookReceiver } from '../support/webhook-receiver';
import type { StormHistory } from './history';
import {
  farsOf,
  GATEWAYS,
  PROCESS_NAMES,
  PROCESSES,
  type GatewayName,
  type ProcessName,
  type ServerName,
} from './parts';
import { stormCatalogue } from './storm-catalogue';
import { Conflicts } from './conflicts';
import { StormLinks } from './storm-links';
import { StormProcesses } from './storm-processes';
import { StormServers } from './storm-servers';
import { StormUpstream } from './storm-upstream';

const READY_MS = 120_000;
const CONNECT_MS = 60_000;
const DATABASE = 'sluice_storm';

/** A whole installation of its own, servers included, with a fault proxy on every link. */
export class StormInstallation {
  #seed: Seed | undefined;

  private constructor(
    readonly servers: StormServers,
    readonly upstream: StormUpstream,
    readonly receiver: WebhookReceiver,
    readonly links: StormLinks,
    readonly processes: StormProcesses,
    /** Connected to the servers themselves, not through a proxy. */
    readonly database: Database,
    readonly conflicts: Conflicts,
    private readonly closeDatabase: () => Promise<void>,
    private readonly gatewayPorts: Readonly<Record<GatewayName, number>>,
  ) {}

  /** Resolves when every process is ready and the demo workspace is there. */
  static async start(folder: string, seed: number, history: StormHistory): Promise<StormInstallation> {
    mkdirSync(folder, { recursive: true });
    const servers = await StormServers.start(join(folder, 'servers'));
    try {
      return await StormInstallation.#on(servers, folder, seed, history);
    } catch (error) {
      await servers.stop();
      throw error;
    }
  }

  static async #on(
    servers: StormServers,
    folder: string,
    seed: number,
    history: StormHistory,
  ): Promise<StormInstallation> {
    const urls = {
      postgres: await makeDatabase(servers.url('postgres')),
      rabbitmq: servers.url('rabbitmq'),
      redis: servers.url('redis'),
    };
    const [upstream, receiver] = await Promise.all([StormUpstream.start(seed), WebhookReceiver.start()]);
    const links = await StormLinks.start(urls, upstream.port);
    const [first = 0, second = 0, ...healthPorts] = await freePorts(2 + PROCESS_NAMES.length);
    const gatewayPorts = { 'gateway-1': first, 'gateway-2': second };
    const environment = environments({ folder, urls, links, gatewayPorts, receiver });
    const processes = new StormProcesses(folder, history, environment);
    const dataSource = createDataSource({
      url: urls.postgres,
      poolSize: 3,
      applicationName: 'storm',
      connectTimeoutMs: CONNECT_MS,
      statementTimeoutMs: CONNECT_MS,
      onPoolError: () => undefined,
    });
    await dataSource.initialize();
    const close = (): Promise<void> => dataSource.destroy();
    const database = new Database(dataSource);
    const installation = new StormInstallation(
      servers,
      upstream,
      receiver,
      links,
      processes,
      database,
      await Conflicts.prepare(database),
      close,
      gatewayPorts,
    );
    for (const [index, name] of PROCESS_NAMES.entries()) processes.start(name, healthPorts[index]!);
    const missing = await processes.missing(READY_MS);
    if (missing.length > 0) {
      const logs = (missing as ProcessName[]).map((name) => `${name}\n${processes.lastLines(name).join('\n')}`);
      throw new Error(`not ready: ${logs.join('\n')}`);
    }
    const operator = { DATABASE_URL: urls.postgres, ...operatorKeys(folder) };
    installation.#seed = await plantSeed({ ...environment('auth'), ...operator });
    return installation;
  }

  get seed(): Seed {
    if (this.#seed === undefined) throw new Error('the installation has not started');
    return this.#seed;
  }

  baseUrl(gateway: GatewayName): string {
    return `http://127.0.0.1:${this.gatewayPorts[gateway]}/api/v1`;
  }

  async stop(): Promise<void> {
    await this.processes.stop();
    await this.closeDatabase().catch(() => undefined);
    await Promise.all([this.links.close(), this.upstream.stop(), this.receiver.stop()]);
    await this.servers.stop();
  }
}

async function makeDatabase(serverUrl: string): Promise<string> {
  const client = new Client({ connectionString: serverUrl });
  await client.connect();
  await client.query(`CREATE DATABASE ${DATABASE}`);
  await client.end();
  const url = new URL(serverUrl);
  url.pathname = `/${DATABASE}`;
  await migrate(url.href, TEST_LOGINS);
  return url.href;
}

interface Surroundings {
  readonly folder: string;
  readonly urls: Readonly<Record<ServerName, string>>;
  readonly links: StormLinks;
  readonly gatewayPorts: Readonly<Record<GatewayName, number>>;
  readonly receiver: WebhookReceiver;
}

/** Who the command line is on the broker. */
const operatorKeys = (folder: string): Readonly<Record<string, string>> =>
  brokerKeysOf('cli', developmentSecrets(join(folder, 'secrets.json')));

/** The environment of each process: every address in it is a proxy of this process. */
function environments(around: Surroundings): (name: ProcessName) => Record<string, string> {
  const { folder, urls, links, gatewayPorts, receiver } = around;
  const secrets = developmentSecrets(join(folder, 'secrets.json'));
  return (name) => {
    const app = PROCESSES[name];
    const through = (server: ServerName): string =>
      farsOf(name).includes(server) ? links.between(name, server).through(urls[server]) : urls[server];
    const catalogue = stormCatalogue((far) => (farsOf(name).includes(far) ? links.between(name, far).port : undefined));
    const gateway = GATEWAYS.find((one) => one === name);
    const catalogueFile = join(folder, `catalogue-${name}.yaml`);
    writeFileSync(catalogueFile, catalogue);
    return {
      PATH: process.env.PATH ?? '',
      HOME: folder,
      NODE_ENV: 'production',
      NODE_COMPILE_CACHE: join(root, '.sluice/compile-cache'),
      NODE_EXTRA_CA_CERTS: receiver.certificateFile,
      DATABASE_URL: appUrlOf(app, through('postgres')),
      AMQP_URL: through('rabbitmq'),
      ...brokerKeysOf(app, secrets),
      REDIS_URL: through('redis'),
      REDIS_KEY_PREFIX: 'storm:',
      CATALOG_PATH: catalogueFile,
      BLOB_DIR: join(folder, 'blobs'),
      [PROVIDER_KEY_VARIABLE]: `storm-upstream-${'k'.repeat(24)}`,
      DRAIN_DELAY_MS: '0',
      LOG_LEVEL: 'info',
      EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
      BATCH_CONCURRENCY: '32',
      ...(gateway !== undefined && GATEWAY_SETTINGS),
      ...(gateway !== undefined && {
        PORT: String(gatewayPorts[gateway]),
        PUBLIC_URL: `http://127.0.0.1:${gatewayPorts['gateway-1']}`,
      }),
      ...(app === 'video-worker' && {
        VIDEO_REVIEW_SECONDS: '5',
        PUBLIC_URL: `http://127.0.0.1:${gatewayPorts['gateway-1']}`,
      }),
      ...(app === 'auth' && { TOKEN_SIGNING_KEYS: secrets.TOKEN_SIGNING_KEYS }),
      ...(app === 'credentials' && { CREDENTIALS_KEYRING: secrets.CREDENTIALS_KEYRING }),
    };
  };
}

const GATEWAY_SETTINGS = {
  GATEWAY_REPLICAS: '2',
  BATCH_SUBMISSIONS_PER_MINUTE: '1000000',
  BATCH_READS_PER_MINUTE: '1000000',
  VIDEO_SUBMISSIONS_PER_MINUTE: '100000',
  VIDEO_READS_PER_MINUTE: '100000',
  // On, so that Redis has something to decide; high, so that it never refuses.
  INFERENCE_REQUESTS_PER_MINUTE: '1000000',
  UPSTREAM_HEADERS_TIMEOUT_MS: '4000',
  UPSTREAM_IDLE_TIMEOUT_MS: '4000',
  UPSTREAM_TOTAL_TIMEOUT_MS: '15000',
} as const;
