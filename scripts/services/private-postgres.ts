import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, chownSync, existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { PrivateProcess, type PrivateServer } from './private-process';
import { privateSettings } from './private-settings';
import { probePostgres } from './probe';
import { findProgram, findUser, runsAsRoot, type SystemUser } from './programs';

export const hasPostgresPrograms = (): boolean =>
  findProgram('postgres') !== undefined && findProgram('initdb') !== undefined;

/** PostgreSQL refuses to run as root, so in that case it runs as a separate user. */
function userToRunAs(): SystemUser | undefined {
  if (!runsAsRoot()) return undefined;
  const user = findUser('postgres') ?? findUser('nobody');
  if (user === undefined) throw new Error('PostgreSQL does not run as root, and there is no user postgres or nobody');
  return user;
}

function isOpenToAll(folder: string): boolean {
  const everyoneMayPass = (statSync(folder).mode & 0o001) !== 0;
  return everyoneMayPass && (folder === dirname(folder) || isOpenToAll(dirname(folder)));
}

/** Our temporary folders are closed to other users. This lets them pass through, but not list the content. */
function openTemporaryFolders(folder: string): void {
  for (let one = folder; one.startsWith(`${tmpdir()}/`); one = dirname(one)) {
    const { uid, mode } = statSync(one);
    if (uid === process.getuid?.()) chmodSync(one, mode | 0o001);
  }
}

/** A folder in root's home is closed to another user, so the data is stored in /var/tmp, one folder per checkout. */
function reachableFolder(folder: string, user: SystemUser | undefined): string {
  mkdirSync(folder, { recursive: true });
  if (user === undefined) return folder;
  chmodSync(folder, 0o711);
  openTemporaryFolders(folder);
  if (isOpenToAll(folder)) return folder;
  const elsewhere = join('/var/tmp', `sluice-${createHash('sha256').update(folder).digest('hex').slice(0, 12)}`);
  mkdirSync(elsewhere, { recursive: true, mode: 0o711 });
  if (statSync(elsewhere).uid !== 0) throw new Error(`${elsewhere} belongs to someone else`);
  return elsewhere;
}

interface Cluster {
  readonly folder: string;
  readonly data: string;
  readonly password: string;
  readonly user: SystemUser | undefined;
}

/** Created with another name and then renamed, so that an interrupted initdb leaves no incomplete cluster. */
function createCluster({ folder, data, password, user }: Cluster): void {
  const unfinished = `${data}.unfinished`;
  const passwordFile = join(folder, 'initdb-password');
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { mode: 0o700 });
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (user) for (const path of [unfinished, passwordFile]) chownSync(path, user.userId, user.groupId);
  const args = ['-D', unfinished, '-U', 'postgres', '-E', 'UTF8', '--locale=C', '--no-sync', '-A', 'scram-sha-256'];
  const run = spawnSync(findProgram('initdb') ?? 'initdb', [...args, `--pwfile=${passwordFile}`], {
    encoding: 'utf8',
    cwd: folder,
    ...(user && { uid: user.userId, gid: user.groupId }),
  });
  rmSync(passwordFile, { force: true });
  if (run.status !== 0) throw new Error(`initdb failed: ${run.stderr}${run.error?.message ?? ''}`);
  renameSync(unfinished, data);
}

function majorVersionOf(program: string): string {
  const text = spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout;
  return /(\d+)/.exec(text)?.[1] ?? 'unknown';
}

/** Starts a private PostgreSQL with its data in `folder`; reuses an existing cluster. */
export async function startPrivatePostgres(folder: string): Promise<PrivateServer> {
  const program = findProgram('postgres');
  if (program === undefined) throw new Error('no PostgreSQL server program is installed');
  const user = userToRunAs();
  const ownFolder = resolve(folder);
  const { password, ports } = await privateSettings(ownFolder, 1);
  const [port = 0] = ports;
  const place = reachableFolder(ownFolder, user);
  const data = join(place, `data-${majorVersionOf(program)}`);
  if (!existsSync(data)) createCluster({ folder: place, data, password, user });
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
  const settings = ['listen_addresses=127.0.0.1', `port=${port}`, 'unix_socket_directories=', 'max_connections=300'];
  return PrivateProcess.start({
    title: 'PostgreSQL',
    command: program,
    args: ['-D', data, ...settings.flatMap((setting) => ['-c', setting])],
    folder: place,
    logFile: join(ownFolder, 'server.log'),
    user,
    // Fast shutdown: it does not wait for clients to leave.
    stopSignal: 'SIGINT',
    url,
    port,
    probe: () => probePostgres(url),
  });
}
