// Puts each app and all that it loads into one file, dist/apps/NAME/app.js, and beside it main.js, which starts it.
// Finding, reading and compiling 1,500 files was most of the work of a start (ADR 60).
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { build } from 'esbuild';

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

/** A module in the bundle still finds what lies beside its own file. */
const ownFolders = (appFolder) => ({
  name: 'own-folders',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]dist[\\/](apps|libs)[\\/].*\.js$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      if (!text.includes('__dirname')) return undefined;
      const folder = JSON.stringify(relative(appFolder, dirname(path)));
      return { contents: text.replaceAll('__dirname', `require('node:path').join(__dirname, ${folder})`) };
    });
  },
});

/** It requires TypeORM by a path that no bundler follows, for two exports that TypeORM 1 no longer has. */
const withoutOldTypeOrm = {
  name: 'without-old-typeorm',
  setup({ onLoad }) {
    onLoad({ filter: /@nestjs[\\/]typeorm[\\/].*typeorm-compat\.js$/ }, () => ({
      contents: 'export const Connection = undefined; export const AbstractRepository = undefined;',
    }));
  },
};

/** With one letter above 0xff, V8 keeps two bytes for each letter of the file. esbuild leaves them in patterns. */
function inOneByteLetters(file) {
  const text = readFileSync(file, 'utf8');
  const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  writeFileSync(`${file}.new`, text.replaceAll(/[\u0080-\uffff]/g, escaped));
  renameSync(`${file}.new`, file);
}

/** Node keeps what V8 compiles and takes it at the next start; where the folder cannot be written it goes on without. */
const MAIN = `'use strict';
require('node:module').enableCompileCache(require('node:path').join(__dirname, '.compile-cache'));
require('./app.js');
`;

/** `dist`: the folder of the compiled files. @throws Error of esbuild that names the file and what is missing */
export async function bundleApp(dist, name) {
  const folder = join(dist, 'apps', name);
  const outfile = join(folder, 'app.js');
  await build({
    entryPoints: [join(folder, 'src/main.js')],
    outfile,
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
    banner: { js: "const __bundleUrl = require('node:url').pathToFileURL(__filename).href;" },
    plugins: [ownFolders(folder), withoutOldTypeOrm],
    logLevel: 'error',
  });
  inOneByteLetters(outfile);
  writeFileSync(join(folder, 'main.js'), MAIN);
}
