/**
 * `npm test`: finds or starts the services, then runs the jest projects `unit`, `integration` and `e2e`. Arguments go
 * to jest: `npm test -- libs/errors`, `npm test -- --selectProjects unit`. The last line is `N passed, N failed`.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createTemplates, TEMPLATE_VARIABLE } from '@libs/persistence/testing';
import { startSharedBroker } from '../test/support/shared-broker';
import { hasRabbitPrograms } from './private-services';
import { root, runMain, say, stateFolder } from './checkout';
import { runNode } from './node-child';
import { findServices, serviceEnvironment, stopServices } from './services/find-services';
import { addCounts, countsOf, failedRun, noCounts, type JestReport, type TestCounts } from './test-counts';

/** In this order: quick tests that point directly to the cause come first. */
const PROJECTS = ['unit', 'integration', 'e2e'] as const;
/** The projects of jest.shares.config.cjs, which is for runs of all their specs. */
const SHARED: readonly string[] = ['unit', 'integration', 'e2e'];
/** Run only if they are selected, as `npm run chaos` and `npm run clients` do: they take long, or need other programs. */
const ON_DEMAND = ['chaos', 'timed', 'agents'] as const;
/**
 * The machine may be busy, and no test measures time by its own limit. Unit and integration specs wait about half of the
 * time, so four suites run at once. Whole systems start or wait most of the time, so three suites of e2e, or two of
 * chaos, fit on two cores. Tests that check how soon something happens run one at a time.
 */
const FLAGS: Readonly<Partial<Record<string, readonly string[]>>> = {
  unit: ['--maxWorkers=4'],
  integration: ['--maxWorkers=4'],
  e2e: ['--maxWorkers=3', '--testTimeout=300000'],
  agents: ['--runInBand', '--testTimeout=120000'],
  chaos: ['--maxWorkers=2'],
  timed: ['--runInBand'],
};

/** How long e2e tests wait at least for what happens in another process. */
const E2E_PATIENCE_MS = '120000';

const jest = join(root, 'node_modules/jest/bin/jest.js');

interface Selection {
  readonly projects: readonly string[];
  readonly jestArguments: readonly string[];
}

/** `--selectProjects a b` selects projects; all other arguments are for jest. */
function selectionOf(args: readonly string[]): Selection {
  const at = args.indexOf('--selectProjects');
  if (at === -1) return { projects: PROJECTS, jestArguments: args };
  const after = args.slice(at + 1);
  const end = after.findIndex((argument) => argument.startsWith('-'));
  const names = end === -1 ? after : after.slice(0, end);
  const known = [...PROJECTS, ...ON_DEMAND];
  const unknown = names.filter((name) => !known.some((project) => project === name));
  if (unknown.length > 0) throw new Error(`there is no jest project ${unknown.join(', ')}`);
  const jestArguments = [...args.slice(0, at), ...(end === -1 ? [] : after.slice(end))];
  return { projects: known.filter((project) => names.includes(project)), jestArguments };
}

async function runProject(
  project: string,
  jestArguments: readonly string[],
  environment: NodeJS.ProcessEnv,
  reportFile: string,
): Promise<TestCounts> {
  const isWhole = jestArguments.every((argument) => /^--(?:shard|testTimeout)=/.test(argument));
  const config = isWhole && SHARED.includes(project) ? ['--config', 'jest.shares.config.cjs'] : [];
  const flags = [...config, '--selectProjects', project, '--passWithNoTests', '--json', `--outputFile=${reportFile}`];
  const optionOf = (flag: string): string => flag.split('=')[0]!;
  const given = new Set(jestArguments.map(optionOf));
  const how = (FLAGS[project] ?? ['--maxWorkers=100%']).filter((flag) => !given.has(optionOf(flag)));
  const exitCode = await runNode(
    ['--experimental-vm-modules', '--no-warnings', jest, ...flags, ...how, ...jestArguments],
    environment,
    'inherit',
    { isDone: () => existsSync(reportFile) },
  );
  try {
    return countsOf(JSON.parse(readFileSync(reportFile, 'utf8')) as JestReport, exitCode);
  } catch {
    say(`jest left no report of the ${project} tests.`);
    return failedRun;
  }
}

/** Migrates once for all tests with databases. */
async function withTemplates<T>(
  projects: readonly string[],
  server: string,
  run: (environment: Readonly<Record<string, string>>) => Promise<T>,
): Promise<T> {
  if (projects.every((project) => project === 'unit')) return run({});
  const templates = await createTemplates(server);
  try {
    return await run({ [TEMPLATE_VARIABLE]: templates.name });
  } finally {
    await templates.drop();
  }
}

/** The other projects need none, or end theirs. */
async function withBroker<T>(
  project: string,
  folder: string,
  run: (environment: Readonly<Record<string, string>>) => Promise<T>,
): Promise<T> {
  if ((project !== 'e2e' && project !== 'agents') || !hasRabbitPrograms()) return run({});
  const broker = await startSharedBroker(folder);
  try {
    return await run(broker.environment);
  } finally {
    await broker.stop();
  }
}

async function main(): Promise<number> {
  const { projects, jestArguments } = selectionOf(process.argv.slice(2));
  mkdirSync(stateFolder, { recursive: true });
  const reports = mkdtempSync(join(stateFolder, 'test-'));
  const services = await findServices({ root, environment: process.env, say });
  let counts = noCounts;
  try {
    await withTemplates(projects, services.postgres.url, async (templates) => {
      const environment = { ...process.env, ...serviceEnvironment(services), ...templates };
      for (const project of projects) {
        say(`\n--- ${project} tests`);
        const ran = await withBroker(project, join(reports, 'rabbitmq'), (broker) =>
          runProject(
            project,
            jestArguments,
            { ...environment, ...broker, ...(project === 'e2e' && { TEST_PATIENCE_MS: E2E_PATIENCE_MS }) },
            join(reports, `${project}.json`),
          ),
        );
        counts = addCounts(counts, ran);
      }
    });
  } finally {
    await stopServices(Object.values(services));
    rmSync(reports, { recursive: true, force: true });
  }
  if (counts.skipped > 0) say(`${counts.skipped} skipped`);
  if (counts.passed + counts.failed === 0) say('No test ran.');
  if (counts.failures.length > 0) {
    process.stdout.write(`\nFailed:\n${counts.failures.map((one) => `- ${one}\n`).join('')}`);
  }
  process.stdout.write(`${counts.passed} passed, ${counts.failed} failed\n`);
  return counts.failed === 0 && counts.passed > 0 ? 0 : 1;
}

runMain(main);
