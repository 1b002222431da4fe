/**
 * `npm run chaos`: the long form of the chaos tests, minutes to an hour; arguments go to jest, and
 * `SLUICE_CHAOS_SEED=N` runs one schedule again. `npm run chaos -- --mutants [NAME …]` puts each defect of
 * test/chaos/mutants.ts into a copy of the checkout and runs the test that must turn red for it.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mutants, type Mutant } from '../test/chaos/mutants';
import { root, runMain, say } from './checkout';
import { runNode } from './node-child';
import { findServices, serviceEnvironment, stopServices } from './services/find-services';

const FOLDERS = ['apps', 'libs', 'scripts', 'test', 'tools', 'bench'];
const FILES = ['jest.config.cjs', 'package.json', 'tsconfig.base.json', 'tsconfig.json', 'tsconfig.build.json'];

function runLongForm(args: readonly string[]): Promise<number> {
  return runNode([join(root, 'dist/scripts/test.js'), '--selectProjects', 'chaos', '--testTimeout=3600000', ...args], {
    ...process.env,
    SLUICE_CHAOS: 'full',
  });
}

/** True when the test turned red, as it must. */
async function isCaught(mutant: Mutant, copy: string, environment: NodeJS.ProcessEnv): Promise<boolean> {
  const file = join(copy, mutant.file);
  const text = readFileSync(file, 'utf8');
  writeFileSync(
    file,
    text.replace(mutant.find, () => mutant.replace),
  );
  try {
    const jest = join(root, 'node_modules/jest/bin/jest.js');
    const flags = ['--rootDir', copy, '--selectProjects', mutant.project, '--runInBand', '--silent', mutant.spec];
    const command = ['--experimental-vm-modules', '--no-warnings', jest, '--config', join(copy, 'jest.config.cjs')];
    return (await runNode([...command, ...flags], environment, 'ignore')) !== 0;
  } finally {
    writeFileSync(file, text);
  }
}

async function hunt(names: readonly string[]): Promise<number> {
  const chosen = names.length === 0 ? mutants : mutants.filter(({ name }) => names.includes(name));
  const copy = mkdtempSync(join(tmpdir(), 'sluice-mutants-'));
  const services = await findServices({ root, environment: process.env, say });
  const escaped: string[] = [];
  try {
    for (const name of FOLDERS) cpSync(join(root, name), join(copy, name), { recursive: true });
    for (const name of FILES) cpSync(join(root, name), join(copy, name));
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
    const environment = { ...process.env, ...serviceEnvironment(services) };
    for (const mutant of chosen) {
      const caught = await isCaught(mutant, copy, environment);
      if (!caught) escaped.push(mutant.name);
      say(`${caught ? 'caught ' : 'ESCAPED'} ${mutant.name}: ${mutant.defect}`);
    }
  } finally {
    await stopServices(Object.values(services));
    rmSync(copy, { recursive: true, force: true });
  }
  process.stdout.write(`${chosen.length - escaped.length} of ${chosen.length} mutants caught\n`);
  return escaped.length === 0 && chosen.length > 0 ? 0 : 1;
}

function main(): Promise<number> {
  const args = process.argv.slice(2);
  if (args[0] !== '--mutants') return runLongForm(args);
  return hunt(args.slice(1));
}

runMain(main);
