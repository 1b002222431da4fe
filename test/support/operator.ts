import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../../scripts/checkout';
import { commands } from '../../tools/sluice/src/commands';
import { ConnectedInstallation } from '../../tools/sluice/src/installation';
import { run } from '../../tools/sluice/src/run';
import { readSluiceEnv } from '../../tools/sluice/src/sluice.env';
import type { Installation } from './installation';

const execute = promisify(execFile);
// A process that starts and an audit of everything, on a machine that is busy otherwise.
const TIMEOUT_MS = 120_000;

/** The operator at the command line of a test's installation. */
export class Operator {
  constructor(private readonly installation: Installation) {}

  /** Runs the program `sluice … --json` and reads what it printed. @throws Error when it fails */
  async run<T>(...args: readonly string[]): Promise<T> {
    const { stdout } = await execute(
      process.execPath,
      [join(root, 'dist/tools/sluice/src/main.js'), ...args, '--json'],
      {
        env: this.environment,
        timeout: TIMEOUT_MS,
      },
    );
    return JSON.parse(stdout) as T;
  }

  /** The same in this process, which takes a second less: for a spec that needs what the command does. */
  async runHere<T>(...args: readonly string[]): Promise<T> {
    const connected = new ConnectedInstallation(readSluiceEnv(this.environment));
    try {
      return await runConnected<T>(args, connected);
    } finally {
      await connected.close();
    }
  }

  /** A tenant of its own. Without credits it cannot pay for anything. */
  async createTenant(name: string, creditsUsd: string | null): Promise<Tenant> {
    const connected = new ConnectedInstallation(readSluiceEnv(this.environment));
    const here = <T>(...args: readonly string[]): Promise<T> => runConnected<T>(args, connected);
    const createKey = async (organization: string, ...more: readonly string[]): Promise<string> =>
      (await here<{ key: string }>('keys', 'create', '--name', name, '--organization', organization, ...more)).key;
    try {
      const { id, defaultWorkspaceId } = await here<{ id: string; defaultWorkspaceId: string }>(
        'organizations',
        'create',
        '--name',
        name,
      );
      const [apiKey, managementKey] = await Promise.all([createKey(id), createKey(id, '--management')]);
      if (creditsUsd !== null) await here('credits', 'add', creditsUsd, '--organization', id);
      return { organizationId: id, workspaceId: defaultWorkspaceId, apiKey, managementKey };
    } finally {
      await connected.close();
    }
  }

  private get environment(): NodeJS.ProcessEnv {
    return {
      PATH: process.env.PATH ?? '',
      HOME: this.installation.folder,
      DATABASE_URL: this.installation.databaseUrl,
      ...this.installation.brokerEnvironmentOf('cli'),
      ...(process.env.REDIS_URL !== undefined && { REDIS_URL: process.env.REDIS_URL }),
    };
  }
}

async function runConnected<T>(args: readonly string[], connected: ConnectedInstallation): Promise<T> {
  const said: string[] = [];
  const output = { print: (text: string) => void said.push(text), complain: (text: string) => void said.push(text) };
  const code = await run([...args, '--json'], commands, connected, output);
  if (code !== 0) throw new Error(`sluice ${args.join(' ')}: ${said.join('\n')}`);
  return JSON.parse(said.join('\n')) as T;
}

export interface Tenant {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly apiKey: string;
  readonly managementKey: string;
}
