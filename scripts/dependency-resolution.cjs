// How dependency-cruiser finds what `@libs/…` means: the aliases of tsconfig.base.json, written out per lib.
// Read through the `webpackConfig` option of .dependency-cruiser.cjs, the only one that takes aliases; its own
// reader of tsconfig files cannot follow a pattern with a suffix such as `@libs/*/testing`.
const { readdirSync } = require('node:fs');
const { join, resolve } = require('node:path');

const libs = resolve(__dirname, '../libs');

const aliasesOf = (lib) => [
  [`@libs/${lib}/testing$`, join(libs, lib, 'src/testing/index.ts')],
  [`@libs/${lib}$`, join(libs, lib, 'src/index.ts')],
];

module.exports = { resolve: { alias: Object.fromEntries(readdirSync(libs).flatMap(aliasesOf)) } };
