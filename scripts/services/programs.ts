import { spawnSync } from 'node:child_process';
import { accessSync, constants, globSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Where distributions and package managers install server programs that are on no PATH; newest version first. */
const placesOf: Readonly<Record<string, readonly string[]>> = {
  postgres: [
    '/usr/lib/postgresql/*/bin',
    '/usr/pgsql-*/bin',
    '/opt/homebrew/opt/postgresql@*/bin',
    '/usr/local/opt/postgresql@*/bin',
  ],
  initdb: [
    '/usr/lib/postgresql/*/bin',
    '/usr/pgsql-*/bin',
    '/opt/homebrew/opt/postgresql@*/bin',
    '/usr/local/opt/postgresql@*/bin',
  ],
  'rabbitmq-server': [
    '/usr/lib/rabbitmq/bin',
    '/usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin',
    '/opt/homebrew/opt/rabbitmq/sbin',
    '/usr/local/opt/rabbitmq/sbin',
  ],
  epmd: ['/usr/lib/erlang/bin', '/usr/lib/erlang/erts-*/bin'],
};

const byVersionDescending = (left: string, right: string): number => right.localeCompare(left, 'en', { numeric: true });

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/**
 * Returns the path of an installed program, or undefined. The known folders precede the PATH, because a program on the
 * PATH (Debian's rabbitmq-server) may be a wrapper for the system's single instance.
 */
export function findProgram(...names: readonly string[]): string | undefined {
  for (const name of names) {
    const known = (placesOf[name] ?? []).flatMap((pattern) => globSync(pattern).toSorted(byVersionDescending));
    const onPath = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
    const found = [...known, ...onPath].map((folder) => join(folder, name)).find(isProgram);
    if (found !== undefined) return found;
  }
  return undefined;
}

export interface SystemUser {
  readonly userId: number;
  readonly groupId: number;
}

export function findUser(name: string): SystemUser | undefined {
  const idOf = (flag: string): number => {
    const { status, stdout } = spawnSync('id', [flag, name], { encoding: 'utf8' });
    return status === 0 ? Number(stdout) : NaN;
  };
  const user = { userId: idOf('-u'), groupId: idOf('-g') };
  return Number.isInteger(user.userId) && Number.isInteger(user.groupId) ? user : undefined;
}

export const runsAsRoot = (): boolean => process.getuid?.() === 0;
