// Builds everything into dist/: `tsc`, incrementally, the aliases through which Node finds `@libs/…` there, and one file
// of each app.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleApp } from './bundle-apps.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const dist = join(root, 'dist');
const quiet = process.argv.includes('--quiet');
const configFiles = ['tsconfig.base.json', 'tsconfig.build.json', 'node_modules/typescript/package.json'];
/** What `bundleApp` writes. */
const BUNDLES = /[\\/]dist[\\/]apps[\\/][^\\/]+[\\/](main|app)\.js$/;
/** What the files of the apps are made of, beside the compiled files. */
const bundleInputs = ['package-lock.json', 'scripts/bundle-apps.mjs', 'dist/.tsbuildinfo'];
/** Files that the code in the same folder reads. */
const assets = [
  'apps/gateway/src/openapi/openapi.json',
  'scripts/bundle-apps.mjs',
  'tools/sandbox-provider/src/media/film.mp4',
  'tools/sandbox-provider/src/media/recording.wav',
];

const readIfThere = (file) => (existsSync(file) ? readFileSync(file, 'utf8') : '');

const writeIfOther = (file, text) => {
  if (readIfThere(file) === text) return;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
};

/** Deletes outputs that were made under another configuration. */
function startAfreshWhenConfigChanged() {
  const hash = createHash('sha256');
  for (const file of configFiles) hash.update(readIfThere(join(root, file)));
  const stamp = hash.digest('hex');
  const stampFile = join(dist, '.config-stamp');
  if (existsSync(join(dist, '.tsbuildinfo')) && readIfThere(stampFile) === stamp) return;
  rmSync(dist, { recursive: true, force: true });
  writeIfOther(stampFile, stamp);
}

/** An output whose source is gone would still be found by a glob or a require. */
function removeOutputsWithoutSource() {
  for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
    const match = /^(.+)\.(js|js\.map)$/.exec(entry.name);
    if (!entry.isFile() || match === null || entry.parentPath.includes('node_modules')) continue;
    const output = join(entry.parentPath, entry.name);
    if (BUNDLES.test(output)) continue;
    const source = join(root, entry.parentPath.slice(dist.length), `${match[1]}.ts`);
    if (!existsSync(source)) rmSync(output, { force: true });
  }
}

/** `require('@libs/x')` from dist finds dist/libs/x: Node looks into dist/node_modules before the root's. */
function writeLibAliases() {
  for (const lib of readdirSync(join(root, 'libs'))) {
    const alias = join(dist, 'node_modules/@libs', lib);
    writeIfOther(join(alias, 'package.json'), JSON.stringify({ main: `../../../libs/${lib}/src/index.js` }));
    if (!existsSync(join(root, 'libs', lib, 'src/testing/index.ts'))) continue;
    const main = `../../../../libs/${lib}/src/testing/index.js`;
    writeIfOther(join(alias, 'testing/package.json'), JSON.stringify({ main }));
  }
}

/** Makes the files of the apps anew where anything changed that may be in them. */
async function bundleApps() {
  const hash = createHash('sha256');
  for (const file of bundleInputs) hash.update(readIfThere(join(root, file)));
  const stamp = hash.digest('hex');
  const stampFile = join(dist, '.bundle-stamp');
  const names = readdirSync(join(root, 'apps'));
  const isThere = (name) => existsSync(join(dist, 'apps', name, 'app.js'));
  if (readIfThere(stampFile) === stamp && names.every(isThere)) return;
  await Promise.all(names.map((name) => bundleApp(dist, name)));
  writeIfOther(stampFile, stamp);
}

const startedAt = performance.now();
startAfreshWhenConfigChanged();
const compiler = join(root, 'node_modules/typescript/bin/tsc');
const tsc = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], { cwd: root, encoding: 'utf8' });
if (tsc.status !== 0) {
  process.stderr.write(`${tsc.stdout}${tsc.stderr}\nThe build failed: the errors stand above.\n`);
  process.exit(1);
}
removeOutputsWithoutSource();
for (const file of assets) copyFileSync(join(root, file), join(dist, file));
writeLibAliases();
await bundleApps();
if (!quiet) console.log(`Built in ${((performance.now() - startedAt) / 1000).toFixed(1)} s.`);
