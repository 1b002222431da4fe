import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { PrivateServer } from './private-process';
import { hasPostgresPrograms, startPrivatePostgres } from './private-postgres';
import { hasRabbitPrograms, startPrivateRabbit } from './private-rabbit';
import { hasRedisPrograms, startPrivateRedis } from './private-redis';
import { writeWhole } from './private-settings';
import { isAlive, markOf, type ProcessMark } from './processes';
import { probe } from './probe';
import type { FoundService, ServiceName } from './service-kinds';

/** What the folder of a running private server contains about it. */
interface RunningServer {
  readonly url: string;
  readonly server: ProcessMark;
  readonly owner: ProcessMark;
}

const starters = { postgres: startPrivatePostgres, rabbitmq: startPrivateRabbit, redis: startPrivateRedis } as const;

const programs = { postgres: hasPostgresPrograms, rabbitmq: hasRabbitPrograms, redis: hasRedisPrograms } as const;

export const hasPrograms = (name: ServiceName): boolean => programs[name]();

const LONGEST_START_MS = 90_000;
/** How long a server may take to stop after its owner died and its guard asked it to stop. */
const LONGEST_FAREWELL_MS = 40_000;

function readJson<T>(file: string): T | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as T;
  } catch {
    return undefined;
  }
}

async function waitUntil(condition: () => boolean, timeoutMs: number): Promise<boolean> {
  const startedAt = performance.now();
  while (performance.now() - startedAt < timeoutMs) {
    if (condition()) return true;
    await delay(100);
  }
  return condition();
}

/** Only one process at a time starts servers in a folder; a lock whose holder died is free. */
async function whileLocked<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const file = join(folder, 'starting.lock');
  const take = (): boolean => {
    const holder = readJson<ProcessMark>(file);
    if (holder !== undefined && !isAlive(holder)) rmSync(file, { force: true });
    try {
      const lock = openSync(file, 'wx');
      writeSync(lock, JSON.stringify(markOf(process.pid)));
      closeSync(lock);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    }
  };
  if (!(await waitUntil(take, LONGEST_START_MS))) {
    throw new Error(`another process has been starting servers for long; if there is none, remove ${file}`);
  }
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}

/** Returns the server of another running `up` or `test` of this checkout, to be used and left running. */
async function shared(name: ServiceName, file: string): Promise<FoundService | undefined> {
  const running = readJson<RunningServer>(file);
  if (running === undefined || !isAlive(running.server)) return undefined;
  if (!isAlive(running.owner)) {
    const gone = await waitUntil(() => !isAlive(running.server), LONGEST_FAREWELL_MS);
    if (gone) return undefined;
    throw new Error(`a server of an earlier run is still there (pid ${running.server.pid}); end it and try again`);
  }
  const { ok } = await probe(name, running.url);
  return ok ? { name, url: running.url, source: 'private' } : undefined;
}

function owned(name: ServiceName, server: PrivateServer, file: string): FoundService {
  writeWhole(
    file,
    JSON.stringify({ url: server.url, server: markOf(server.pid), owner: markOf(process.pid) } satisfies RunningServer),
  );
  const stop = async (): Promise<void> => {
    await server.stop();
    rmSync(file, { force: true });
  };
  return { name, url: server.url, source: 'private', stop };
}

/**
 * Returns a private instance in `.sluice/services`: the one that another command of this checkout runs, or a new one.
 */
export async function usePrivateInstance(name: ServiceName, servicesFolder: string): Promise<FoundService> {
  const folder = join(servicesFolder, name);
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'running.json');
  return whileLocked(folder, async () => (await shared(name, file)) ?? owned(name, await starters[name](folder), file));
}
