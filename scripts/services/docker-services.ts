import { setTimeout as delay } from 'node:timers/promises';
import { lastLineOf, runCommand, type CommandResult } from './commands';
import { probe, type ProbeResult } from './probe';
import { SERVICE_KINDS, type FoundService, type ServiceName } from './service-kinds';

const ENGINE_TIMEOUT_MS = 15_000;
const PULL_AND_START_TIMEOUT_MS = 300_000;
const LOGIN_TIMEOUT_MS = 60_000;

type ContainerEnvironment = Readonly<Record<string, string | null>>;

const docker = (folder: string, timeoutMs: number, ...args: string[]): Promise<CommandResult> =>
  runCommand('docker', args, { folder, timeoutMs });

/** Undefined when an engine and the compose plugin answer; else why not. The client may be there without an engine. */
export async function whyNoDocker(folder: string): Promise<string | undefined> {
  const engine = await docker(folder, ENGINE_TIMEOUT_MS, 'info');
  if (!engine.ok) return `no engine answers (${lastLineOf(engine.output)})`;
  const compose = await docker(folder, ENGINE_TIMEOUT_MS, 'compose', 'version');
  return compose.ok ? undefined : 'the compose plugin is missing';
}

/** The logins that docker-compose.yml gives the containers. */
async function environmentOf(name: ServiceName, folder: string): Promise<ContainerEnvironment> {
  const config = await docker(folder, ENGINE_TIMEOUT_MS, 'compose', 'config', '--format', 'json');
  if (!config.ok) return {};
  const { services } = JSON.parse(config.stdout) as {
    services?: Record<string, { environment?: ContainerEnvironment } | undefined>;
  };
  return services?.[name]?.environment ?? {};
}

function urlOf(name: ServiceName, address: string, environment: ContainerEnvironment): string {
  const login = (user: string | null | undefined, password: string | null | undefined): string =>
    `${encodeURIComponent(user ?? '')}:${encodeURIComponent(password ?? '')}`;
  switch (name) {
    case 'postgres': {
      const user = environment.POSTGRES_USER ?? 'postgres';
      return `postgres://${login(user, environment.POSTGRES_PASSWORD)}@${address}/postgres`;
    }
    case 'rabbitmq':
      return `amqp://${login(environment.RABBITMQ_DEFAULT_USER ?? 'guest', environment.RABBITMQ_DEFAULT_PASS ?? 'guest')}@${address}`;
    case 'redis':
      return `redis://${address}`;
  }
}

async function takesLogins(name: ServiceName, url: string): Promise<ProbeResult> {
  const startedAt = performance.now();
  for (;;) {
    const result = await probe(name, url);
    if (result.ok || performance.now() - startedAt > LOGIN_TIMEOUT_MS) return result;
    await delay(250);
  }
}

/** One service of docker-compose.yml; it is stopped at the end only when it did not run before. */
export async function startDockerService(name: ServiceName, folder: string): Promise<FoundService> {
  const before = await docker(folder, ENGINE_TIMEOUT_MS, 'compose', 'ps', '--services', '--status', 'running');
  const ranBefore = before.stdout.split('\n').includes(name);
  const up = await docker(folder, PULL_AND_START_TIMEOUT_MS, 'compose', 'up', '--detach', '--no-deps', name);
  if (!up.ok) throw new Error(`docker compose up ${name} failed: ${lastLineOf(up.output)}`);
  const stop = async (): Promise<void> => {
    await docker(folder, PULL_AND_START_TIMEOUT_MS, 'compose', 'stop', name);
  };
  const published = await docker(
    folder,
    ENGINE_TIMEOUT_MS,
    'compose',
    'port',
    name,
    String(SERVICE_KINDS[name].containerPort),
  );
  const address = lastLineOf(published.stdout).replace('0.0.0.0', '127.0.0.1');
  const url = urlOf(name, address, await environmentOf(name, folder));
  const result = published.ok ? await takesLogins(name, url) : { ok: false as const, reason: 'it publishes no port' };
  if (result.ok) return { name, url, source: 'docker', ...(!ranBefore && { stop }) };
  if (!ranBefore) await stop();
  throw new Error(`the container ${name} cannot be used: ${result.reason}`);
}
