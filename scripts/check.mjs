// What to run before a commit: format, lint, types, dependency rules, unit tests. Every step runs, whatever the
// others found, and only the output of failed ones is shown. The unit tests spend a third of their time waiting, for
// clocks and sockets; the other steps only compute, so they fill the gaps, one after another and at a lower priority,
// because some tests measure time.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const bin = (path) => join(root, 'node_modules', path);
const cruise = (config, ...folders) => [
  bin('dependency-cruiser/bin/dependency-cruiser.mjs'),
  '--config',
  config,
  ...folders,
];
const sourceFolders = ['apps', 'libs', 'tools', 'scripts', 'bench', 'test'].filter((folder) =>
  existsSync(join(root, folder)),
);

/** On both cores: jest leaves one free by default, and there are two. */
const unitTests = ['--config', 'jest.shares.config.cjs', '--silent', '--maxWorkers=100%'];

/** What uses one core comes first; what uses them all last, when the unit tests may have ended. */
const fillers = [
  ['format', [bin('oxfmt/bin/oxfmt'), '--check', '.']],
  ['dependency rules', cruise('.dependency-cruiser.cjs', ...sourceFolders)],
  ['folder circles', cruise('.dependency-circles.cjs', 'apps')],
  // A second checker would check again what the first knows.
  ['types', [bin('typescript/bin/tsc'), '-p', 'tsconfig.json', '--checkers', '1']],
  ['lint', [bin('oxlint/bin/oxlint'), '--type-aware', '--deny-warnings']],
];
const tests = [['unit tests', ['--experimental-vm-modules', '--no-warnings', bin('jest/bin/jest.js'), ...unitTests]]];

/** For `nice`: every other process that needs a core comes first. */
const LOWEST_PRIORITY = '19';
/** Lint and types end before collecting their garbage is worth it. */
const fillerEnvironment = { ...process.env, GOGC: 'off', GOMEMLIMIT: '2GiB' };

/** @returns {Promise<{ ok: boolean, output: string }>} */
function run(args, isFiller) {
  const [program, ...rest] = [...(isFiller ? ['nice', '-n', LOWEST_PRIORITY] : []), process.execPath, ...args];
  return new Promise((done) => {
    const env = isFiller ? fillerEnvironment : process.env;
    const child = spawn(program, rest, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
    child.on('error', ({ message }) => done({ ok: false, output: message }));
    const chunks = [];
    child.stdout.on('data', (chunk) => chunks.push(chunk));
    child.stderr.on('data', (chunk) => chunks.push(chunk));
    child.on('close', (code) => done({ ok: code === 0, output: Buffer.concat(chunks).toString('utf8') }));
  });
}

const seconds = (sinceMs) => `${((performance.now() - sinceMs) / 1000).toFixed(1)} s`;
const startedAt = performance.now();
const failed = [];

async function runInTurn(steps, isFiller) {
  for (const [name, args] of steps) {
    const stepStartedAt = performance.now();
    const { ok, output } = await run(args, isFiller);
    if (!ok) {
      failed.push(name);
      process.stdout.write(`${output}\n`);
    }
    console.log(`${ok ? 'ok    ' : 'FAILED'}  ${name.padEnd(18)}${seconds(stepStartedAt)}`);
  }
}

await Promise.all([runInTurn(tests, false), runInTurn(fillers, true)]);

console.log(failed.length === 0 ? `All checks passed in ${seconds(startedAt)}.` : `Failed: ${failed.join(', ')}.`);
process.exit(failed.length === 0 ? 0 : 1);
