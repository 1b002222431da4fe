import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  startPrivatePostgres,
  startPrivateRabbit,
  startPrivateRedis,
  type PrivateServer,
} from '../../scripts/private-services';
import { parentOf } from '../../scripts/services/processes';
import { SERVERS, type ServerName } from './parts';

const STARTERS = { postgres: startPrivatePostgres, rabbitmq: startPrivateRabbit, redis: startPrivateRedis } as const;

/** PostgreSQL, RabbitMQ and Redis of one storm: its own to kill, freeze and restart. */
export class StormServers {
  private constructor(private readonly servers: Readonly<Record<ServerName, PrivateServer>>) {}

  static async start(folder: string): Promise<StormServers> {
    const started: Partial<Record<ServerName, PrivateServer>> = {};
    const starting = SERVERS.map(async (name) => {
      started[name] = await STARTERS[name](join(folder, name));
    });
    const failed = (await Promise.allSettled(starting)).filter(({ status }) => status === 'rejected');
    if (failed.length === 0) return new StormServers(started as Record<ServerName, PrivateServer>);
    await Promise.allSettled(Object.values(started).map((server) => server.stop()));
    throw new AggregateError(
      failed.map((result) => (result as PromiseRejectedResult).reason),
      'no private servers',
    );
  }

  url(name: ServerName): string {
    return this.servers[name].url;
  }

  kill9(name: ServerName): Promise<void> {
    return this.servers[name].kill9();
  }

  /** Stops the server in an orderly way if it runs, and starts it on its data. Returns when it takes logins. */
  restart(name: ServerName): Promise<void> {
    return this.servers[name].restart();
  }

  /** Stops every process of the server where it is. @returns what lets them go on */
  freeze(name: ServerName): () => void {
    const frozen = treeOf(this.servers[name].pid);
    signalAll(frozen, 'SIGSTOP');
    // Those that were begun in between are children of one that is frozen by now.
    const late = treeOf(this.servers[name].pid).filter((pid) => !frozen.includes(pid));
    signalAll(late, 'SIGSTOP');
    return () => signalAll([...frozen, ...late], 'SIGCONT');
  }

  async stop(): Promise<void> {
    await Promise.all(Object.values(this.servers).map((server) => server.stop()));
  }
}

/** A process and its descendants. */
function treeOf(root: number): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const parents = new Map(pids.map((pid) => [Number(pid), parentOf(Number(pid))]));
  const tree = new Set([root]);
  for (let grown = true; grown;) {
    const children = [...parents].filter(([pid, parent]) => parent !== undefined && tree.has(parent) && !tree.has(pid));
    for (const [pid] of children) tree.add(pid);
    grown = children.length > 0;
  }
  return [...tree];
}

function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has ended by itself.
    }
  }
}
