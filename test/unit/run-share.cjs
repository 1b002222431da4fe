const { readdirSync } = require('node:fs');
const { join, relative } = require('node:path');

const ROOT = join(__dirname, '../..');
const FOLDERS = ['apps', 'bench', 'libs', 'scripts', 'test', 'tools'];

/** Runs one of so many shares of the unit specs in one suite, whose module registry loads what they share once. */
module.exports = function runShare(number, shares) {
  const specs = FOLDERS.flatMap((folder) => specsUnder(join(ROOT, folder)));
  const from = Math.floor((specs.length * (number - 1)) / shares);
  const to = Math.floor((specs.length * number) / shares);
  for (const spec of specs.slice(from, to)) describe(relative(ROOT, spec), () => void require(spec));
};

/** @returns {string[]} in the same order everywhere, so that every share is of the same whole */
function specsUnder(folder) {
  return readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith('.spec.ts'))
    .map((name) => join(folder, name))
    .toSorted();
}
