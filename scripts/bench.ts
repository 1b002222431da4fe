/** `npm run bench -- NAME …`: one benchmark of bench/, with the services up; it prints one JSON object last. */
import { existsSync, globSync } from 'node:fs';
import { basename, join } from 'node:path';
import { loadDotEnv, root, runMain, say } from './checkout';
import { runNode } from './node-child';
import { findServices, serviceEnvironment, stopServices } from './services/find-services';

const SUFFIX = '.bench.js';

async function main(): Promise<number> {
  const [name = '', ...args] = process.argv.slice(2);
  const folder = join(root, 'dist/bench');
  const file = join(folder, `${name}${SUFFIX}`);
  if (!/^[a-z0-9-]+$/.test(name) || !existsSync(file)) {
    const names = globSync(join(folder, `*${SUFFIX}`)).map((path) => basename(path, SUFFIX));
    throw new Error(`usage: npm run bench -- NAME, where NAME is one of: ${names.toSorted().join(', ')}`);
  }
  loadDotEnv();
  const services = await findServices({ root, environment: process.env, say });
  try {
    const environment = { ...process.env, ...serviceEnvironment(services) };
    return await runNode(['--enable-source-maps', '--expose-gc', file, ...args], environment);
  } finally {
    await stopServices(Object.values(services));
  }
}

runMain(main);
