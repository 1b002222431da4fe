/**
 * `npm run chaos -- short`: each chaos test once, about ten minutes. `npm run chaos`: their long form, up to hours, and
 * the long form of the unit and e2e tests that `npm test` shortens.
 * Further arguments go to jest; `SLUICE_CHAOS_SEED=N` runs one schedule again. `npm run chaos -- --mutants [NAME …]`
 * puts each defect of test/chaos/mutants.ts into a copy of the checkout, runs its tests there and names the one that
 * failed, as it must. `npm run chaos -- storm` runs random loads under random faults and checks the invariants
 * (docs/storm.md).
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { editsOf, type Mutant } from '../test/chaos/mutant';
import { mutants } from '../test/chaos/mutants';
import { stormCommand } from '../test/storm/storm-command';
import { root, runMain, say } from './checkout';
import { runNode } from './node-child';
import { findServices, serviceEnvironment, stopServices } from './services/find-services';

const FOLDERS = ['k8s', 'apps', 'libs', 'scripts', 'test', 'tools', 'bench'];
const FILES = [
  'docker-compose.yml',
  'jest.config.cjs',
  'package.json',
  'tsconfig.base.json',
  'tsconfig.json',
  'tsconfig.build.json',
];

const CHAOS = ['chaos', 'timed'];

function runTests(
  projects: readonly string[],
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<number> {
  const selected = [...args, '--selectProjects', ...projects];
  return runNode([join(root, 'dist/scripts/test.js'), ...selected], environment);
}

function runLongForm(args: readonly string[]): Promise<number> {
  const environment = { ...process.env, SLUICE_CHAOS: 'full', SLUICE_HOSTILE: 'full' };
  return runTests(['unit', 'e2e', ...CHAOS], ['--testTimeout=3600000', ...args], environment);
}

interface JestReport {
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

/** Returns the tests that failed. @throws Error if no test ran, which proves nothing about the defect */
function redTestsOf(reportFile: string): string[] {
  const { testResults } = JSON.parse(readFileSync(reportFile, 'utf8')) as JestReport;
  const tests = testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ status }) => status === 'passed' || status === 'failed');
  if (tests.length === 0) throw new Error(`no test ran: ${testResults.map(({ message }) => message).join('\n')}`);
  return tests.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName);
}

/** Returns a pattern that matches exactly this text. */
function literally(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

/** Returns the tests that fail with the defect. */
async function redTestsWith(mutant: Mutant, copy: string, environment: NodeJS.ProcessEnv): Promise<string[]> {
  const changed = editsOf(mutant).map(({ file: name, find, replace }) => {
    const file = join(copy, name);
    const text = readFileSync(file, 'utf8');
    writeFileSync(
      file,
      text.replace(find, () => replace),
    );
    return { file, text };
  });
  const report = join(copy, 'report.json');
  try {
    const jest = join(root, 'node_modules/jest/bin/jest.js');
    // A defect must not reach tests for which it is not meant, because their protection against it may be what is
    // missing.
    const named = mutant.test === undefined ? [] : ['--testNamePattern', literally(mutant.test)];
    // A test that fails may leave servers open, which keep the process.
    const flags = [
      '--rootDir',
      copy,
      '--selectProjects',
      mutant.project,
      '--runInBand',
      '--forceExit',
      '--silent',
      ...named,
    ];
    const command = ['--experimental-vm-modules', '--no-warnings', jest, '--config', join(copy, 'jest.config.cjs')];
    await runNode([...command, '--json', `--outputFile=${report}`, ...flags, mutant.spec], environment, 'ignore');
    return redTestsOf(report);
  } finally {
    for (const { file, text } of changed) writeFileSync(file, text);
    rmSync(report, { force: true });
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
      const [catcher] = await redTestsWith(mutant, copy, environment).catch((error: unknown) => {
        say(`${mutant.name}: ${String(error)}`);
        return [];
      });
      if (catcher === undefined) escaped.push(mutant.name);
      say(`${catcher === undefined ? 'ESCAPED' : 'caught '} ${mutant.name}: ${mutant.defect}`);
      if (catcher !== undefined) say(`        by: ${catcher}`);
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
  if (args[0] === 'storm') return stormCommand(args.slice(1));
  if (args[0] === 'short') return runTests(CHAOS, args.slice(1), process.env);
  if (args[0] !== '--mutants') return runLongForm(args);
  return hunt(args.slice(1));
}

runMain(main);
