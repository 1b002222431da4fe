/**
 * `npm run clients`: runs SDKs and coding agents like their users, against a started Sluice. They are installed into
 * .sluice/clients from test/clients/agents/package.json; arguments are passed to jest.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, runMain, say, stateFolder } from './checkout';
import { runNode } from './node-child';

const source = join(root, 'test/clients/agents');
const folder = join(stateFolder, 'clients');
const stampFile = join(folder, 'node_modules/.sluice-stamp');
const FILES = ['package.json', 'package-lock.json', 'programs'];

/**
 * Programs find packages relative to their own folder. Installs unless the versions in the lock file are present.
 * @throws Error
 */
function install(): void {
  mkdirSync(folder, { recursive: true });
  for (const file of FILES) cpSync(join(source, file), join(folder, file), { recursive: true });
  const stamp = createHash('sha256')
    .update(readFileSync(join(folder, 'package-lock.json')))
    .digest('hex');
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return;
  say('Installing the clients (about 1.5 GB) …');
  // Not `ci`: the lock file may lack packages for other machines that a registry does not have.
  const flags = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status } = spawnSync('npm', ['install', ...flags], {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (status !== 0) throw new Error(`npm install in ${folder} failed; see above.`);
  writeFileSync(stampFile, stamp);
}

runMain(async () => {
  install();
  const flags = ['--selectProjects', 'agents', '--verbose'];
  return runNode([join(root, 'dist/scripts/test.js'), ...flags, ...process.argv.slice(2)], process.env);
});
