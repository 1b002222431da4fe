// Exits 0 when node_modules holds what package-lock.json asks for. npm writes node_modules/.package-lock.json as
// the last act of an install, so an interrupted install counts as none.
const { readFileSync } = require('node:fs');
const { join } = require('node:path');

const root = join(__dirname, '..');

const packagesOf = (file) => JSON.parse(readFileSync(join(root, file), 'utf8')).packages;

function isInstalled() {
  let installed;
  try {
    installed = packagesOf('node_modules/.package-lock.json');
  } catch {
    return false;
  }
  return Object.entries(packagesOf('package-lock.json')).every(([path, wanted]) => {
    if (path === '') return true;
    const found = installed[path];
    // Optional packages of other platforms stay out.
    if (found === undefined) return wanted.optional === true;
    return found.version === wanted.version && found.integrity === wanted.integrity;
  });
}

process.exit(isInstalled() ? 0 : 1);
