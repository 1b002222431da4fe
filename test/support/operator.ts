import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../../scripts/checkout';
import type { Installation } from './installation';

const run = promisify(execFile);
const TIMEOUT_MS = 30_000;

/** The operator at the command line of a test's installation. */
export class Operator {
  constructor(private readonly installation: Installation) {}

  /** Runs `sluice … --json` and reads what it printed. @throws Error when it fails */
  async run<T>(...args: readonly string[]): Promise<T> {
    const { stdout } = await run(process.execPath, [join(root, 'dist/tools/sluice/src/main.js'), ...args, '--json'], {
      env: {
        PATH: process.env.PATH ?? '',
        HOME: this.installation.folder,
        DATABASE_URL: this.installation.databaseUrl,
        ...this.installation.brokerEnvironmentOf('cli'),
        ...(process.env.REDIS_URL !== undefined && { REDIS_URL: process.env.REDIS_URL }),
      },
      timeout: TIMEOUT_MS,
    });
    return JSON.parse(stdout) as T;
  }

  /** A tenant of its own. Without credits it cannot pay for anything. */
  async createTenant(name: string, creditsUsd: string | null): Promise<Tenant> {
    const { id, defaultWorkspaceId } = await this.run<{ id: string; defaultWorkspaceId: string }>(
      'organizations',
      'create',
      '--name',
      name,
    );
    const apiKey = await this.createKey(id, 'api');
    const managementKey = await this.createKey(id, 'management');
    if (creditsUsd !== null) await this.run('credits', 'add', creditsUsd, '--organization', id);
    return { organizationId: id, workspaceId: defaultWorkspaceId, apiKey, managementKey };
  }

  private async createKey(organization: string, kind: 'api' | 'management'): Promise<string> {
    const management = kind === 'management' ? ['--management'] : [];
    const args = ['keys', 'create', '--name', `${kind} key`, '--organization', organization, ...management];
    return (await this.run<{ key: string }>(...args)).key;
  }
}

export interface Tenant {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly apiKey: string;
  readonly managementKey: string;
}
