import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { PrivateProcess, type PrivateServer } from './private-process';
import { privateSettings } from './private-settings';
import { probeRedis } from './probe';
import { findProgram } from './programs';

const findRedis = (): string | undefined => findProgram('redis-server', 'valkey-server');

export const hasRedisPrograms = (): boolean => findRedis() !== undefined;

/**
 * Starts a private Redis. It stores nothing on disk: after a restart it is empty, which Sluice must tolerate anyway.
 */
export async function startPrivateRedis(folder: string): Promise<PrivateServer> {
  const program = findRedis();
  if (program === undefined) throw new Error('no Redis server program is installed');
  const ownFolder = resolve(folder);
  const { password, ports } = await privateSettings(ownFolder, 1);
  const [port = 0] = ports;
  const configFile = join(ownFolder, 'redis.conf');
  const config = [
    'bind 127.0.0.1',
    `port ${port}`,
    `requirepass ${password}`,
    `dir "${ownFolder}"`,
    'save ""',
    'appendonly no',
    'daemonize no',
  ];
  writeFileSync(configFile, `${config.join('\n')}\n`, { mode: 0o600 });
  const url = `redis://:${password}@127.0.0.1:${port}`;
  return PrivateProcess.start({
    title: 'Redis',
    command: program,
    args: [configFile],
    folder: ownFolder,
    logFile: join(ownFolder, 'server.log'),
    stopSignal: 'SIGTERM',
    url,
    port,
    probe: () => probeRedis(url),
  });
}
