import { setTimeout as delay } from 'node:timers/promises';
import { lastLineOf, runCommand, type CommandResult } from './commands';
import { probe, type ProbeResult } from './probe';
import { SERVICE_KINDS, type FoundService, type ServiceName } from './service-kinds';

const ENGINE_TIMEOUT_MS = 15_000;
const PULL_AND_START_TIMEOUT_MS = 300_000;
const LOGIN_TIMEOUT_MS = 60_000;

const docker = (folder: string, timeoutMs: number, ...args: string[]): Promise<CommandResult> =>
  runCommand('docker', args, { folder, timeoutMs });

/**
 * Returns undefined if an engine and the compose plugin answer; else why not. The client may exist without an engine.
 */
export async function whyNoDocker(folder: string): Promise<string | undefined> {
  const engine = await docker(folder, ENGINE_TIMEOUT_MS, 'info');
  if (!engine.ok) return `no engine answers (${lastLineOf(engine.output)})`;
  const compose = await docker(folder, ENGINE_TIMEOUT_MS, 'compose', 'version');
  return compose.ok ? undefined : 'the compose plugin is missing';
}

async function takesLogins(name: ServiceName, url: string): Promise<ProbeResult> {
  const startedAt = performance.now();
  for (;;) {
    const result = await probe(name, url);
    if (result.ok || performance.now() - startedAt > LOGIN_TIMEOUT_MS) return result;
    await delay(250);
  }
}

/** Starts one service of docker-compose.yml; it is stopped at the end only if it did not run before. */
export async function startDockerService(name: ServiceName, folder: string): Promise<FoundService> {
  const before = await docker(folder, ENGINE_TIMEOUT_MS, 'compose', 'ps', '--services', '--status', 'running');
  const ranBefore = before.stdout.split('\n').includes(name);
  const up = await docker(folder, PULL_AND_START_TIMEOUT_MS, 'compose', 'up', '--detach', '--no-deps', name);
  if (!up.ok) throw new Error(`docker compose up ${name} failed: ${lastLineOf(up.output)}`);
  const stop = async (): Promise<void> => {
    await docker(folder, PULL_AND_START_TIMEOUT_MS, 'compose', 'stop', name);
  };
  const { containerPort, containerUrl } = SERVICE_KINDS[name];
  const published = await docker(folder, ENGINE_TIMEOUT_MS, 'compose', 'port', name, String(containerPort));
  const url = containerUrl(lastLineOf(published.stdout).replace('0.0.0.0', '127.0.0.1'));
  const result = published.ok ? await takesLogins(name, url) : { ok: false as const, reason: 'it publishes no port' };
  if (result.ok) return { name, url, source: 'docker', ...(!ranBefore && { stop }) };
  if (!ranBefore) await stop();
  throw new Error(`the container ${name} cannot be used: ${result.reason}`);
}
