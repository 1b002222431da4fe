const { readdirSync, readFileSync } = require('node:fs');
const { join, relative } = require('node:path');

const ROOT = join(__dirname, '../..');
const UNIT_FOLDERS = ['apps', 'bench', 'libs', 'scripts', 'test', 'tools'];
const INTEGRATION_FOLDERS = ['apps', 'libs'];
const E2E_FOLDERS = ['test/clients', 'test/e2e', 'test/hostile'];

/** Runs one of so many shares of the unit specs, but for those that measure memory. */
exports.unit = function runUnitShare(number, shares) {
  const specs = specsUnder(UNIT_FOLDERS, '.spec.ts').filter((spec) => !measuresMemory(spec));
  run(everyNth(specs, number, shares));
};

/** Runs the unit specs that measure memory: looking for garbage in what all others have loaded takes most of their time. */
exports.memory = function runMemoryShare() {
  run(specsUnder(UNIT_FOLDERS, '.spec.ts').filter(measuresMemory));
};

/** Runs one of so many shares of the integration specs. */
exports.integration = function runIntegrationShare(number, shares) {
  run(everyNth(specsUnder(INTEGRATION_FOLDERS, '.int-spec.ts'), number, shares));
};

/** Runs one of so many shares of the e2e specs. */
exports.e2e = function runE2eShare(number, shares) {
  run(everyNth(specsUnder(E2E_FOLDERS, '.e2e-spec.ts'), number, shares));
};

function measuresMemory(spec) {
  return /heapTakenBy|bytesInUse|collectGarbage|runInNewContext\('gc'\)/.test(readFileSync(spec, 'utf8'));
}

/** Neighbours take about as long, so each goes to another share. */
function everyNth(specs, number, shares) {
  return specs.filter((_spec, at) => at % shares === number - 1);
}

/** In one suite, whose module registry loads once what they have in common. */
function run(specs) {
  for (const spec of specs) describe(relative(ROOT, spec), () => void require(spec));
}

/** @returns {string[]} in the same order everywhere, so that every share is of the same whole */
function specsUnder(folders, suffix) {
  return folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true })
      .filter((name) => name.endsWith(suffix))
      .map((name) => join(ROOT, folder, name))
      .toSorted(),
  );
}
