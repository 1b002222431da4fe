import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { lastLineOf, runCommand } from './commands';
import { findProgram, runsAsRoot } from './programs';
import { SERVICE_KINDS, type ServiceName } from './service-kinds';

const INSTALL_TIMEOUT_MS = 600_000;
const POLICY_FILE = '/usr/sbin/policy-rc.d';

/** Returns undefined if the packages can be installed here; else why not. */
export function whyNoPackages(): string | undefined {
  if (!existsSync('/etc/os-release')) return 'this is not Debian or Ubuntu';
  const isDebian = /^ID(_LIKE)?=.*\b(debian|ubuntu)\b/m.test(readFileSync('/etc/os-release', 'utf8'));
  if (!isDebian || findProgram('apt-get') === undefined) return 'this is not Debian or Ubuntu';
  return runsAsRoot() ? undefined : 'installing packages needs root';
}

/** The packages would start the system's own servers on the default ports; this file prevents that. */
async function withoutAutostart<T>(work: () => Promise<T>): Promise<T> {
  if (existsSync(POLICY_FILE)) return work();
  writeFileSync(POLICY_FILE, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  const remove = (): void => rmSync(POLICY_FILE, { force: true });
  process.once('exit', remove);
  try {
    return await work();
  } finally {
    remove();
    process.off('exit', remove);
  }
}

export async function installPackages(names: readonly ServiceName[]): Promise<void> {
  const packages = names.map((name) => SERVICE_KINDS[name].debianPackage);
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const apt = async (...args: string[]): Promise<void> => {
    const result = await runCommand('apt-get', args, { timeoutMs: INSTALL_TIMEOUT_MS, environment });
    if (!result.ok) throw new Error(`apt-get ${args[0] ?? ''} failed: ${lastLineOf(result.output)}`);
  };
  await withoutAutostart(async () => {
    await apt('update', '--quiet');
    await apt('install', '--yes', '--quiet', '--no-install-recommends', ...packages);
  });
}
