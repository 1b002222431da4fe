// Puts each app and all that it loads into one file, dist/apps/NAME/app.js, and beside it main.js, which starts it.
// Finding, reading and compiling 1,500 files was most of the work of a start (ADR 60).
import { existsSync, readFileSync, readdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { context } from 'esbuild';

/** Packages that Nest, Fastify and TypeORM ask for when a feature is used that Sluice does not use. */
const NOT_INSTALLED = [
  '@fastify/multipart',
  '@fastify/static',
  '@fastify/view',
  '@nats-io/transport-node',
  '@nestjs/platform-express',
  '@nestjs/websockets/socket-module.js',
  'amqp-connection-manager',
  'kafkajs',
  'mqtt',
];

/**
 * Stays in a file of its own: a test replaces the function of the failpoints, a page serves the files of a package, and
 * telemetry is loaded only where it is switched on.
 */
const APART = ['@libs/failpoints', 'swagger-ui-dist', '@opentelemetry/sdk-*', '@opentelemetry/exporter-*'];

/** An export that is another file's, as TypeScript writes it; and all exports of another file. */
const REEXPORT =
  /^Object\.defineProperty\(exports, "(\w+)", \{ enumerable: true, get: function \(\) \{ return ([\w.]+); \} \}\);$/gm;
const REEXPORTED_FILE = /^__exportStar\((require\("[^"]+"\)), exports\);$/gm;
const ANY_REEXPORT = /^Object\.defineProperty\(exports, "\w+", \{ enumerable|^__exportStar\(/m;
const OWN_FOLDER = /\b__dirname\b/g;
const REWRITTEN = new RegExp(`${ANY_REEXPORT.source}|${OWN_FOLDER.source}`, 'm');

/** A value that is not there yet would stay undefined: files that require each other in a circle. */
const PRESENT = `function __present(name, value) {
  if (value === undefined) throw new Error(name + ' is exported before it is made: see scripts/bundle-apps.mjs');
  return value;
}`;

/**
 * TypeScript writes each re-export as a getter. V8 then stores the exports of a library as a dictionary, and looks up
 * each use of one: a tenth of the CPU time of a call. `Object.create` makes V8 treat plain values as a prototype, which
 * it stores with fast properties when they are first used.
 */
function withPlainExports(text) {
  const written = text
    .replaceAll(REEXPORT, 'exports.$1 = __present("$1", $2);')
    .replaceAll(
      REEXPORTED_FILE,
      'for (const [name, value] of Object.entries($1)) if (!Object.hasOwn(exports, name)) exports[name] = __present(name, value);',
    );
  if (ANY_REEXPORT.test(written)) {
    throw new Error('TypeScript exports again in another way: see scripts/bundle-apps.mjs');
  }
  return written === text ? text : `${written}\nObject.create(exports);\n`;
}

/** The compiled files of ours that the bundle contains with another text. */
function rewrittenFiles(dist) {
  const entries = ['apps', 'libs'].flatMap((top) =>
    readdirSync(join(dist, top), { recursive: true, withFileTypes: true }),
  );
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.js') && !/^(app|main)\.js$/.test(entry.name))
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((file) => REWRITTEN.test(readFileSync(file, 'utf8')));
}

/**
 * A module in the bundle still finds what lies in the folder of its own file. The filter names the files: esbuild reads
 * all others by itself, and again only when they change.
 */
const ownFiles = (files, appFolder) => ({
  name: 'own-files',
  setup({ onLoad }) {
    if (files.length === 0) return;
    onLoad({ filter: new RegExp(`^(?:${files.map((file) => RegExp.escape(file)).join('|')})$`) }, ({ path }) => {
      const folder = JSON.stringify(relative(appFolder, dirname(path)));
      const text = withPlainExports(readFileSync(path, 'utf8'));
      return { contents: text.replaceAll(OWN_FOLDER, `require('node:path').join(__dirname, ${folder})`) };
    });
  },
});

const missing = (what) => `throw new Error('${what} are not in the bundle: see scripts/bundle-apps.mjs');`;

/** Files of packages that are replaced, by the end of their paths. */
const REPLACED = [
  // It requires TypeORM by a path that no bundler follows, for two exports that TypeORM 1 no longer has.
  [
    /@nestjs[\\/]typeorm[\\/].*typeorm-compat\.js$/,
    'export const Connection = undefined; export const AbstractRepository = undefined;',
  ],
  // It loads the drivers of all databases: a megabyte of source, which V8 keeps in memory.
  [
    /typeorm[\\/]driver[\\/]DriverFactory\.js$/,
    `import { PostgresDriver } from './postgres/PostgresDriver';
     export class DriverFactory {
       create(dataSource) {
         if (dataSource.options.type === 'postgres') return new PostgresDriver(dataSource);
         ${missing('Drivers other than that of PostgreSQL')}
       }
     }`,
  ],
  // It loads the telephone numbering plans of all countries, half a megabyte.
  [
    /class-validator[\\/].*IsPhoneNumber\.js$/,
    `export const IS_PHONE_NUMBER = 'isPhoneNumber';
     export function isPhoneNumber() { ${missing('Phone numbers')} }
     export function IsPhoneNumber() { ${missing('Phone numbers')} }`,
  ],
];

const replacedFiles = {
  name: 'replaced-files',
  setup({ onLoad }) {
    for (const [filter, contents] of REPLACED) onLoad({ filter }, () => ({ contents }));
  },
};

/** With one letter above 0xff, V8 keeps two bytes for each letter of the file. esbuild leaves them in patterns. */
const inOneByteLetters = (text) =>
  text.replaceAll(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

const NAME_HELPER = 'var __name = (target, value) => __defProp(target, "name", { value, configurable: true });';

/**
 * esbuild renames what has the same name in two files, and gives each class and function its own name back when it is
 * made. Requests make functions too, and that took a twentieth of their time. Once the app is loaded, only classes get
 * their names back.
 */
function withNamesFromLoading(text) {
  const helpers = `var __nameClass = (target, value) => __defProp(target, "name", { value, configurable: true });
var __name = (target, value) => __isLoading ? __nameClass(target, value) : target;`;
  const written = text.replace(NAME_HELPER, helpers).replaceAll('__name(this, "', '__nameClass(this, "');
  if (written.includes('__name(') && !written.includes(helpers)) {
    throw new Error('esbuild keeps names in another way: see scripts/bundle-apps.mjs');
  }
  return written;
}

const WRAPPERS = /^(var \w+ = __(?:commonJS|esm)\(\{)$/gm;

/**
 * esbuild wraps each module in an object whose only key is the path of its file. V8 derives the maps of objects with one
 * property from one map, which has room for 1,536 others. With all of it taken, objects of the same form share no map
 * any more, in the whole app: a request took half as much CPU time again. An object without a prototype takes no room.
 */
function withoutMapsOfModules(text) {
  return text.replaceAll(WRAPPERS, '$1 __proto__: null,');
}

/** Answers whether the file had another text before. A process that starts meanwhile reads one of them whole. */
function replaceIfOther(file, text) {
  if (existsSync(file) && readFileSync(file, 'utf8') === text) return false;
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
  return true;
}

/** A file system may give a file the time of the last tick of the kernel's clock, which is up to 10 ms old. */
const CLOCK_STEP_MS = 20;

/** No file that is written from now on has an earlier time. */
const justNow = () => Date.now() - CLOCK_STEP_MS;

/** Whether a file is there and was last written before then. */
function isOlder(file, timeMs) {
  const { mtimeMs = timeMs } = statSync(file, { throwIfNoEntry: false }) ?? {};
  return mtimeMs < timeMs;
}

/** Node keeps what V8 compiles and takes it at the next start; where the folder cannot be written it goes on without. */
const MAIN = `'use strict';
require('node:module').enableCompileCache(require('node:path').join(__dirname, '.compile-cache'));
require('./app.js');
`;

/**
 * The file of one app, for as long as the sources may change: `write` makes it anew if a file that is in it was written
 * since, and answers whether it changed. `close` ends it.
 *
 * `dist`: the folder of the compiled files. @throws Error of esbuild that names the file and what is missing
 */
export async function openBundle(dist, name) {
  const folder = join(dist, 'apps', name);
  const outfile = join(folder, 'app.js');
  let opened = await openContext(dist, folder);
  let inputs;
  let readSince = 0;
  return {
    async write() {
      const isFresh = inputs !== undefined && existsSync(outfile) && inputs.every((file) => isOlder(file, readSince));
      if (isFresh) return false;
      const begun = justNow();
      let result = await opened.bundle.rebuild();
      if (opened.misses(inputsOf(result, dist))) {
        await opened.bundle.dispose();
        opened = await openContext(dist, folder);
        result = await opened.bundle.rebuild();
      }
      inputs = inputsOf(result, dist);
      readSince = begun;
      replaceIfOther(join(folder, 'main.js'), MAIN);
      const { text } = result.outputFiles[0];
      return replaceIfOther(outfile, withNamesFromLoading(withoutMapsOfModules(inOneByteLetters(text))));
    },
    close: () => opened.bundle.dispose(),
  };
}

const inputsOf = ({ metafile }, dist) => Object.keys(metafile.inputs).map((file) => join(dirname(dist), file));

/** `misses` answers whether one of the files has needed another text only since the context was opened. */
async function openContext(dist, folder) {
  const openedAt = justNow();
  const rewritten = new Set(rewrittenFiles(dist));
  const bundle = await context({
    absWorkingDir: dirname(dist),
    entryPoints: [join(folder, 'src/main.js')],
    outfile: join(folder, 'app.js'),
    write: false,
    metafile: true,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    keepNames: true,
    legalComments: 'none',
    // Otherwise the aliases of tsconfig.json lead from the compiled files back to the sources.
    tsconfigRaw: {},
    external: [...NOT_INSTALLED, ...APART],
    define: { 'import.meta.url': '__bundleUrl' },
    banner: {
      js: `const __bundleUrl = require('node:url').pathToFileURL(__filename).href;\nlet __isLoading = true;\n${PRESENT}`,
    },
    footer: { js: '__isLoading = false;' },
    plugins: [ownFiles([...rewritten], folder), replacedFiles],
    logLevel: 'error',
  });
  const isMissed = (file) =>
    file.startsWith(join(dist, '/')) &&
    !rewritten.has(file) &&
    !isOlder(file, openedAt) &&
    REWRITTEN.test(readFileSync(file, 'utf8'));
  return { bundle, misses: (files) => files.some(isMissed) };
}

/** Makes the file of one app. @throws as `openBundle` */
export async function bundleApp(dist, name) {
  const bundle = await openBundle(dist, name);
  try {
    await bundle.write();
  } finally {
    await bundle.close();
  }
}
