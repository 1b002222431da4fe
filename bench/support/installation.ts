import { randomBytes, randomUUID } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  CreateKey,
  CreateOrganization,
  hashApiKey,
  labelApiKey,
  mintApiKey,
  newBrokerKeys,
  Secret,
  type AppName,
  type BrokerKeys,
  type PartyName,
} from '@libs/contracts';
import { createDataSource, Database, LedgerRepository } from '@libs/persistence';
import { appUrlOf, createTestDatabase } from '@libs/persistence/testing';
import { BrokerIdentity, MessageBus, MessagingModule } from '@libs/platform';
import { APP_ALLOCATOR, APP_NODE_FLAGS } from '../../scripts/app-node-flags';
import { freePorts } from '../../scripts/services/ports';
import { benchCatalogue, type CatalogueOptions } from './catalogue';
import { answers, BenchProcess, untilReady } from './child-process';

const dist = resolve(__dirname, '../..');
const SANDBOX_KEY = 'sandbox-key';

/** A gateway and what it needs, in processes of their own, on throw-away places of the three services. */
export interface Installation {
  readonly gateway: BenchProcess;
  readonly gatewayUrl: string;
  readonly gatewayMetricsUrl: string;
  readonly upstreamUrl: string;
  readonly upstreamKey: string;
  readonly apiKey: string;
  readonly database: Database;
  readonly organizationId: string;
  /** Connects to the broker as an app, to call the others; closed with the installation. */
  askAs(app: AppName): Promise<MessageBus>;
  stop(): Promise<void>;
}

export interface InstallationOptions {
  /** Flags for the gateway's Node, e.g. `--cpu-prof`. */
  readonly nodeFlags?: readonly string[];
  readonly creditUsd: string;
  readonly catalogue?: CatalogueOptions;
}

export type Undo = () => unknown;

/** `entry` below `dist`; `flags` for its Node. */
type Launch = (
  name: AppName | 'upstream',
  entry: string,
  environment: NodeJS.ProcessEnv,
  flags?: readonly string[],
) => BenchProcess;

export async function startInstallation(options: InstallationOptions): Promise<Installation> {
  const undo: Undo[] = [];
  const stop = async (): Promise<void> => {
    for (const step of undo.toReversed()) await step();
  };
  try {
    return { ...(await start(options, undo)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function start(options: InstallationOptions, undo: Undo[]): Promise<Omit<Installation, 'stop'>> {
  const created = await createTestDatabase({ logins: true });
  undo.push(() => created.drop());
  const amqpUrl = ownVirtualHost(process.env.AMQP_URL ?? 'amqp://guest:guest@127.0.0.1:5672', undo);
  const ports = await pickPorts();
  const common = {
    ...APP_ALLOCATOR,
    ...process.env,
    NODE_ENV: 'production',
    AMQP_URL: amqpUrl,
    REDIS_KEY_PREFIX: `bench-${randomBytes(4).toString('hex')}:`,
    DRAIN_DELAY_MS: '0',
    LOG_LEVEL: 'warn',
    SANDBOX_API_KEY: SANDBOX_KEY,
  };
  const brokerKeys = newBrokerKeys();
  const launch: Launch = (name, entry, environment, flags = []) => {
    const started = BenchProcess.start(name, [...APP_NODE_FLAGS, ...flags, join(dist, entry)], {
      ...common,
      ...(name !== 'upstream' && brokerEnvironment(name, brokerKeys)),
      ...(name !== 'upstream' && { DATABASE_URL: appUrlOf(name, created.url) }),
      ...environment,
    });
    undo.push(() => started.stop());
    return started;
  };
  const upstreamUrl = `http://127.0.0.1:${ports.upstream}`;
  const upstream = launch('upstream', 'bench/support/zero-upstream.js', { PORT: String(ports.upstream) });
  await untilReady(upstream, () => answers(`${upstreamUrl}/health`));
  await startOwners(launch, ports);
  const gateway = launch(
    'gateway',
    'apps/gateway/main.js',
    {
      PORT: String(ports.gateway),
      HEALTH_PORT: String(ports.gatewayHealth),
      CATALOG_PATH: writeCatalogue(upstreamUrl, options.catalogue ?? {}, undo),
    },
    options.nodeFlags,
  );
  await untilReady(gateway, () => answers(`http://127.0.0.1:${ports.gatewayHealth}/health/ready`));
  const { apiKey, organizationId } = await createCaller(amqpUrl, brokerKeys);
  const dataSource = createDataSource({ url: created.url, applicationName: 'bench', poolSize: 2 });
  await dataSource.initialize();
  undo.push(() => dataSource.destroy());
  const database = new Database(dataSource);
  await new LedgerRepository(database).topUp(organizationId, options.creditUsd, randomUUID());
  return {
    gateway,
    gatewayUrl: `http://127.0.0.1:${ports.gateway}/api/v1`,
    gatewayMetricsUrl: `http://127.0.0.1:${ports.gatewayHealth}/metrics`,
    upstreamUrl,
    upstreamKey: SANDBOX_KEY,
    apiKey,
    database,
    organizationId,
    askAs: (app) => busOf(app, { amqpUrl, brokerKeys, undo }),
  };
}

/** The apps that the gateway asks. */
async function startOwners(launch: Launch, ports: { readonly auth: number; readonly credentials: number }) {
  const auth = launch('auth', 'apps/auth/main.js', { HEALTH_PORT: String(ports.auth) });
  const credentials = launch('credentials', 'apps/credentials/main.js', {
    HEALTH_PORT: String(ports.credentials),
    CREDENTIALS_KEYRING: `bench:${randomBytes(32).toString('base64')}`,
  });
  await untilReady(auth, () => answers(`http://127.0.0.1:${ports.auth}/health/ready`));
  await untilReady(credentials, () => answers(`http://127.0.0.1:${ports.credentials}/health/ready`));
}

async function pickPorts() {
  const [upstream = 0, gateway = 0, gatewayHealth = 0, auth = 0, credentials = 0] = await freePorts(5);
  return { upstream, gateway, gatewayHealth, auth, credentials };
}

/** Queues have fixed names, so another installation on the same broker would share them. */
export function ownVirtualHost(amqpUrl: string, undo: Undo[]): string {
  const name = `sluice-bench-${randomBytes(4).toString('hex')}`;
  const url = new URL(amqpUrl);
  const rabbitmqctl = (...args: string[]): unknown =>
    execFileSync('rabbitmqctl', ['--quiet', ...args], { stdio: 'ignore' });
  try {
    rabbitmqctl('add_vhost', name);
  } catch {
    // Only an operator of the broker may make one; without it, uses the given virtual host.
    return amqpUrl;
  }
  undo.push(() => rabbitmqctl('delete_vhost', name));
  rabbitmqctl('set_permissions', '-p', name, decodeURIComponent(url.username), '.*', '.*', '.*');
  url.pathname = `/${name}`;
  return url.href;
}

function writeCatalogue(upstreamUrl: string, options: CatalogueOptions, undo: Undo[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  undo.push(() => rmSync(folder, { recursive: true }));
  // JSON is YAML.
  writeFileSync(join(folder, 'bench.yaml'), JSON.stringify(benchCatalogue(upstreamUrl, options)));
  return folder;
}

/** Who an app is on the broker. */
export function brokerEnvironment(app: AppName, { privateKeys, publicKeys }: BrokerKeys): NodeJS.ProcessEnv {
  return { BROKER_PRIVATE_KEYS: privateKeys[app], BROKER_PUBLIC_KEYS: publicKeys };
}

async function busOf(
  app: AppName,
  { amqpUrl, brokerKeys, undo }: { amqpUrl: string; brokerKeys: BrokerKeys; undo: Undo[] },
): Promise<MessageBus> {
  const context = await contextOf(app, amqpUrl, brokerKeys);
  undo.push(() => context.close());
  return context.get(MessageBus);
}

/** The connection of a party to the broker. */
async function contextOf(
  party: PartyName,
  amqpUrl: string,
  { privateKeys, publicKeys }: BrokerKeys,
): Promise<INestApplicationContext> {
  const keys = { BROKER_PRIVATE_KEYS: new Secret(privateKeys[party]), BROKER_PUBLIC_KEYS: publicKeys };
  const identity = BrokerIdentity.from(party, keys);
  const module = MessagingModule.forRoot({ amqpUrl: new Secret(amqpUrl), identity, serviceName: 'bench' });
  return NestFactory.createApplicationContext(module, { logger: false, abortOnError: false });
}

async function createCaller(amqpUrl: string, keys: BrokerKeys): Promise<{ apiKey: string; organizationId: string }> {
  const context = await contextOf('cli', amqpUrl, keys);
  try {
    const bus = context.get(MessageBus);
    const organization = await bus.call(CreateOrganization, { name: 'Bench' });
    const apiKey = mintApiKey('sluice', 'api');
    await bus.call(CreateKey, {
      organizationId: organization.id,
      kind: 'api',
      hash: hashApiKey(apiKey),
      label: labelApiKey(apiKey),
      name: 'bench',
    });
    return { apiKey, organizationId: organization.id };
  } finally {
    await context.close();
  }
}
