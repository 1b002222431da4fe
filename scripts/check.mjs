// What to run before a commit: format, lint, types, dependency rules, the OpenAPI document. Every step runs, whatever
// the others found, and only the output of failed ones is shown. `npm run check -- --changed` looks at the files that
// differ from the last commit, and runs the unit tests next to them; types are checked as a whole, because a change can
// break any file.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const bin = (path) => join(root, 'node_modules', path);
const folders = ['apps', 'libs', 'tools', 'scripts', 'bench', 'test'].filter((folder) =>
  existsSync(join(root, folder)),
);

const format = (files) => ['format', [bin('oxfmt/bin/oxfmt'), '--check', '--no-error-on-unmatched-pattern', ...files]];
const lint = (files) => ['lint', [bin('oxlint/bin/oxlint'), '--type-aware', '--deny-warnings', ...files]];
const rules = (name, config, paths) => [
  name,
  [bin('dependency-cruiser/bin/dependency-cruiser.mjs'), '--config', config, ...paths],
];
// The state of the last check makes the next one five times as fast.
const types = [
  'types',
  [bin('typescript/bin/tsc'), '-p', 'tsconfig.json', '--incremental', '--tsBuildInfoFile', '.sluice/types.tsbuildinfo'],
];
/** What the compiled gateway and the types of its answers say, against the document that is committed. */
const openapi = [
  ['build', ['scripts/build.mjs', '--quiet']],
  ['OpenAPI document', ['dist/tools/openapi/src/main.js', '--check']],
];
const describesApi = (file) => /^(?:apps\/gateway|libs|tools\/openapi)\//.test(file) && !file.endsWith('spec.ts');
const unitTests = (specs) => [
  'unit tests',
  [
    '--experimental-vm-modules',
    '--no-warnings',
    bin('jest/bin/jest.js'),
    '--selectProjects',
    'unit',
    '--silent',
  ].concat(['--maxWorkers=1', '--runTestsByPath', ...specs]),
];

/** Two lanes that take about the same time on two cores. */
const wholeLanes = () => [
  [types, rules('dependency rules', '.dependency-cruiser.cjs', folders)],
  [lint([]), rules('folder circles', '.dependency-circles.cjs', ['apps']), format(['.']), ...openapi],
];

function changedLanes() {
  const files = changedFiles();
  const code = files.filter((file) => file.endsWith('.ts') && folders.includes(file.split('/')[0]));
  const specs = [...new Set(code.map((file) => file.replace(/(\.spec)?\.ts$/, '.spec.ts')))].filter(isThere);
  const ifAny = (list, step) => (list.length === 0 ? [] : [step(list)]);
  return [
    [types, ...ifAny(specs, unitTests), ...(files.some(describesApi) ? openapi : [])],
    [
      ...ifAny(code, lint),
      ...ifAny(files, format),
      ...ifAny(code, (list) => rules('dependency rules', '.dependency-cruiser.cjs', list)),
    ],
  ];
}

const isThere = (file) => existsSync(join(root, file));

/** @returns {string[]} files of the working tree that the last commit has not, or has otherwise */
function changedFiles() {
  const listed = (...args) => {
    const { status, stdout, stderr } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
    if (status !== 0) throw new Error(`git ${args[0]} failed: ${stderr}`);
    return stdout.split('\0').filter((file) => file !== '');
  };
  const changed = listed('diff', '--name-only', '--diff-filter=d', '-z', 'HEAD');
  return [...changed, ...listed('ls-files', '--others', '--exclude-standard', '-z')].filter(isThere);
}

/** Lint and types end before collecting their garbage is worth it. */
const environment = { ...process.env, GOGC: 'off', GOMEMLIMIT: '2GiB' };

/** @returns {Promise<{ ok: boolean, output: string }>} */
function run(args) {
  return new Promise((done) => {
    const child = spawn(process.execPath, args, { cwd: root, env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
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

async function runInTurn(steps) {
  for (const [name, args] of steps) {
    const stepStartedAt = performance.now();
    const { ok, output } = await run(args);
    if (!ok) {
      failed.push(name);
      process.stdout.write(`${output}\n`);
    }
    console.log(`${ok ? 'ok    ' : 'FAILED'}  ${name.padEnd(18)}${seconds(stepStartedAt)}`);
  }
}

const unknown = process.argv.slice(2).filter((argument) => argument !== '--changed');
if (unknown.length > 0) throw new Error(`npm run check takes --changed, not ${unknown.join(' ')}`);
const lanes = process.argv.includes('--changed') ? changedLanes() : wholeLanes();
await Promise.all(lanes.map(runInTurn));

console.log(failed.length === 0 ? `All checks passed in ${seconds(startedAt)}.` : `Failed: ${failed.join(', ')}.`);
process.exit(failed.length === 0 ? 0 : 1);
