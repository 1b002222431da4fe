/**
 * `npm run sluice -- …`: the operator's command line. It uses the services in the environment, else those of a running
 * `npm run up`, else the default ones of this machine.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { loadDotEnv, root, runMain, stateFolder } from './checkout';
import { brokerKeysOf, developmentSecrets } from './development/secrets';
import { StateFiles } from './development/state-files';
import { runNode } from './node-child';

async function main(): Promise<number> {
  loadDotEnv();
  const secrets = join(stateFolder, 'secrets.json');
  const keys = existsSync(secrets) ? brokerKeysOf('cli', developmentSecrets(secrets)) : {};
  const environment = { ...new StateFiles(stateFolder).readServices(), ...keys, ...process.env };
  return runNode(
    ['--enable-source-maps', join(root, 'dist/tools/sluice/src/main.js'), ...process.argv.slice(2)],
    environment,
  );
}

runMain(main);
