import { spawn, type ChildProcess } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join, resolve } from 'node:path';
import { PrivateProcess, type PrivateServer } from './private-process';
import { privateSettings, type PrivateSettings } from './private-settings';
import { probeRabbit } from './probe';
import { findProgram } from './programs';

/** A user in addition to the administrator. */
export interface RabbitUser {
  readonly name: string;
  readonly permissions: Readonly<Record<'configure' | 'write' | 'read', string>>;
}

/** What is created in every virtual host in addition to the administrator. */
export interface RabbitSetup {
  readonly users: readonly RabbitUser[];
  /** Whether the management plugin runs, at `managementUrl`. */
  readonly isManaged?: boolean;
  /** In the form of RabbitMQ's definitions. */
  readonly policiesOf: (vhost: string) => readonly object[];
}

const NOTHING_ELSE: RabbitSetup = { users: [], policiesOf: () => [] };
const USER = 'sluice';
const VHOSTS = ['/', 'sluice'];

export interface PrivateRabbitServer extends PrivateServer {
  /** URL with login and password; it works only if the setup asked for the management plugin. */
  readonly managementUrl: string;
}

export const hasRabbitPrograms = (): boolean => findProgram('rabbitmq-server') !== undefined;

/** RabbitMQ's own form: base64 of a four-byte salt and the SHA-256 of salt and password. */
function passwordHash(password: string): string {
  const salt = randomBytes(4);
  return Buffer.concat([salt, createHash('sha256').update(salt).update(password).digest()]).toString('base64');
}

/** Returns virtual hosts and their permissions. */
export function vhostDefinitions(vhosts: readonly string[], { users, policiesOf }: RabbitSetup): object {
  const everything = { configure: '.*', write: '.*', read: '.*' };
  return {
    vhosts: vhosts.map((name) => ({ name })),
    permissions: vhosts.flatMap((vhost) => [
      { user: USER, vhost, ...everything },
      ...users.map(({ name, permissions }) => ({ user: name, vhost, ...permissions })),
    ]),
    policies: vhosts.flatMap(policiesOf),
  };
}

/** Only to set things up: no test reads its statistics, which cost more with each queue. */
const managementConfig = (port: number | undefined): readonly string[] => [
  'management.tcp.ip = 127.0.0.1',
  `management.tcp.port = ${port}`,
  'management_agent.disable_metrics_collector = true',
  'collect_statistics_interval = 60000',
];

/** Loaded at every start, so that neither a plugin nor rabbitmqctl is needed. */
function definitions(password: string, setup: RabbitSetup): string {
  return JSON.stringify({
    users: [
      {
        name: USER,
        password_hash: passwordHash(password),
        hashing_algorithm: 'rabbit_password_hashing_sha256',
        tags: 'administrator',
      },
      ...setup.users.map(({ name }) => ({
        name,
        password_hash: passwordHash(password),
        hashing_algorithm: 'rabbit_password_hashing_sha256',
        tags: '',
      })),
    ],
    ...vhostDefinitions(VHOSTS, setup),
  });
}

function writeConfig(folder: string, { password, ports }: PrivateSettings, setup: RabbitSetup): void {
  const [port, , , managementPort] = ports;
  for (const part of ['home', 'data', 'log', 'schema']) mkdirSync(join(folder, part), { recursive: true, mode: 0o700 });
  const definitionsFile = join(folder, 'definitions.json');
  writeFileSync(definitionsFile, definitions(password, setup), { mode: 0o600 });
  writeFileSync(join(folder, 'enabled_plugins'), setup.isManaged === true ? '[rabbitmq_management].\n' : '[].\n');
  // Debian's own environment file would override ours.
  writeFileSync(join(folder, 'environment.conf'), '');
  const config = [
    `listeners.tcp.1 = 127.0.0.1:${port}`,
    `load_definitions = ${definitionsFile}`,
    // Apps send at most so much.
    'max_message_size = 1048576',
    'log.console = true',
    ...(setup.isManaged === true ? managementConfig(managementPort) : []),
  ];
  writeFileSync(join(folder, 'rabbitmq.conf'), `${config.join('\n')}\n`);
}

function environment(
  folder: string,
  { id, ports: [, distributionPort, epmdPort] }: PrivateSettings,
): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    LANG: 'C.UTF-8',
    // Erlang keeps the cookie of the node there.
    HOME: join(folder, 'home'),
    RABBITMQ_NODENAME: `sluice-${id}@localhost`,
    RABBITMQ_CONF_ENV_FILE: join(folder, 'environment.conf'),
    RABBITMQ_CONFIG_FILE: join(folder, 'rabbitmq.conf'),
    RABBITMQ_ADVANCED_CONFIG_FILE: join(folder, 'advanced.config'),
    RABBITMQ_GENERATED_CONFIG_DIR: join(folder, 'schema'),
    RABBITMQ_SCHEMA_DIR: join(folder, 'schema'),
    RABBITMQ_MNESIA_BASE: join(folder, 'data'),
    RABBITMQ_LOG_BASE: join(folder, 'log'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'enabled_plugins'),
    RABBITMQ_PID_FILE: join(folder, 'server.pid'),
    RABBITMQ_DIST_PORT: String(distributionPort),
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-kernel inet_dist_use_interface {127,0,0,1}',
    // A separate port mapper; otherwise the one of the system would be started and keep running.
    ERL_EPMD_ADDRESS: '127.0.0.1',
    ERL_EPMD_PORT: String(epmdPort),
  };
}

/** Erlang's port mapper. Without ours RabbitMQ starts one as a daemon that never ends. */
class PortMapper {
  #child: ChildProcess | undefined;

  constructor(private readonly port: number) {}

  start(): void {
    const program = findProgram('epmd');
    if (program === undefined || this.#child !== undefined) return;
    // Run by a shell that waits for our end of its stdin to close: it ends with us, whatever we die of.
    const script = '"$1" -port "$2" -address 127.0.0.1 & while read -r _; do :; done; kill "$!"; wait "$!"';
    const child = spawn('sh', ['-c', script, 'port-mapper', program, String(this.port)], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    });
    child.unref();
    (child.stdin as Socket).unref();
    this.#child = child;
  }

  /** Returns when the port is free again. */
  async stop(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.#child = undefined;
    child.ref();
    const exited = once(child, 'exit');
    child.stdin?.end();
    await exited;
  }
}

/** A RabbitMQ server and its port mapper. */
class PrivateRabbit implements PrivateRabbitServer {
  constructor(
    private readonly server: PrivateProcess,
    private readonly portMapper: PortMapper,
    readonly managementUrl: string,
  ) {}

  get url(): string {
    return this.server.url;
  }

  get port(): number {
    return this.server.port;
  }

  get pid(): number {
    return this.server.pid;
  }

  async stop(): Promise<void> {
    await this.server.stop();
    await this.portMapper.stop();
  }

  /** The port mapper stays for the restart; `stop` ends it. */
  kill9(): Promise<void> {
    return this.server.kill9();
  }

  async restart(): Promise<void> {
    await this.server.stop();
    this.portMapper.start();
    await this.server.restart();
  }
}

/**
 * Starts a private RabbitMQ with its data in `folder`: virtual hosts `/` and `sluice`, one administrator, and what
 * `setup` names; all users have the same password.
 */
export async function startPrivateRabbit(folder: string, setup = NOTHING_ELSE): Promise<PrivateRabbitServer> {
  const program = findProgram('rabbitmq-server');
  if (program === undefined) throw new Error('no RabbitMQ server program is installed');
  const ownFolder = resolve(folder);
  const settings = await privateSettings(ownFolder, 4);
  const [port = 0, , epmdPort = 0, managementPort = 0] = settings.ports;
  writeConfig(ownFolder, settings, setup);
  const portMapper = new PortMapper(epmdPort);
  portMapper.start();
  const url = `amqp://${USER}:${settings.password}@127.0.0.1:${port}`;
  try {
    const server = await PrivateProcess.start({
      title: 'RabbitMQ',
      command: program,
      args: [],
      folder: ownFolder,
      logFile: join(ownFolder, 'server.log'),
      environment: environment(ownFolder, settings),
      stopSignal: 'SIGTERM',
      url,
      port,
      probe: () => probeRabbit(url),
      pidBehindWrapper: () => Number(readFileSync(join(ownFolder, 'server.pid'), 'utf8')),
    });
    return new PrivateRabbit(server, portMapper, `http://${USER}:${settings.password}@127.0.0.1:${managementPort}`);
  } catch (error) {
    await portMapper.stop();
    throw error;
  }
}
