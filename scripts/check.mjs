// What to run before a commit: format, lint, types, dependency rules, unit tests. Every step runs, whatever the
// others found, and only the output of failed ones is shown.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const bin = (path) => join(root, 'node_modules', path);
const sourceFolders = ['apps', 'libs', 'tools', 'scripts', 'bench', 'test'].filter((folder) =>
  existsSync(join(root, folder)),
);

/** On both cores: jest leaves one free by default, and there are two. */
const unitTests = ['--config', 'jest.shares.config.cjs', '--silent', '--maxWorkers=100%'];

const steps = [
  ['format', [bin('oxfmt/bin/oxfmt'), '--check', '.']],
  ['lint', [bin('oxlint/bin/oxlint'), '--type-aware', '--deny-warnings']],
  ['types', [bin('typescript/bin/tsc'), '-p', 'tsconfig.json']],
  [
    'dependency rules',
    [bin('dependency-cruiser/bin/dependency-cruiser.mjs'), '--config', '.dependency-cruiser.cjs', ...sourceFolders],
  ],
  ['unit tests', ['--experimental-vm-modules', '--no-warnings', bin('jest/bin/jest.js'), ...unitTests]],
];

/** @returns {Promise<{ ok: boolean, output: string }>} */
function run(args) {
  return new Promise((done) => {
    const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    const chunks = [];
    child.stdout.on('data', (chunk) => chunks.push(chunk));
    child.stderr.on('data', (chunk) => chunks.push(chunk));
    child.on('close', (code) => done({ ok: code === 0, output: Buffer.concat(chunks).toString('utf8') }));
  });
}

const seconds = (sinceMs) => `${((performance.now() - sinceMs) / 1000).toFixed(1)} s`;
const startedAt = performance.now();
const failed = [];

for (const [name, args] of steps) {
  const stepStartedAt = performance.now();
  const { ok, output } = await run(args);
  if (!ok) {
    failed.push(name);
    process.stdout.write(`${output}\n`);
  }
  console.log(`${ok ? 'ok    ' : 'FAILED'}  ${name.padEnd(18)}${seconds(stepStartedAt)}`);
}

console.log(failed.length === 0 ? `All checks passed in ${seconds(startedAt)}.` : `Failed: ${failed.join(', ')}.`);
process.exit(failed.length === 0 ? 0 : 1);
