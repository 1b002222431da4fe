import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { root } from './checkout';

const APPS = ['auth', 'batch-worker', 'credentials', 'gateway', 'video-worker'];
const FORMS = join(__dirname, '../test/support/shared-forms.cjs');

describe('an app in one file', () => {
  // With a bad environment an app ends as soon as it is loaded, also while other apps use its ports.
  it.each(APPS)('leaves V8 room for the maps of objects: %s', (app) => {
    const main = join(root, 'dist/apps', app, 'main.js');
    const { stdout, stderr } = spawnSync(process.execPath, ['--allow-natives-syntax', '--require', FORMS, main], {
      env: { LOG_LEVEL: 'no such level' },
      encoding: 'utf8',
    });
    expect(stdout + stderr).toContain('Bad environment');
    expect(stdout).toContain('forms shared: [true,true,true,true]');
  });

  it('stores the many exports of a library, and of a file that it exports whole, with fast properties', () => {
    const names = Array.from({ length: 200 }, (_, place) => `name${place}`);
    const lines = bundleAndRun({
      'libs/many/src/values.js': names.map((name) => `exports.${name} = '${name}';`).join('\n'),
      'libs/many/src/more.js': 'exports.more = () => 1;\nexports.name7 = "not this one";',
      'libs/many/src/index.js': [
        `${names.map((name) => `exports.${name}`).join(' = ')} = void 0;`,
        'const __exportStar = () => undefined;',
        'var values_1 = require("./values");',
        ...names.map(
          (name) =>
            `Object.defineProperty(exports, "${name}", { enumerable: true, get: function () { return values_1.${name}; } });`,
        ),
        '__exportStar(require("./more"), exports);',
      ].join('\n'),
      'apps/sample/src/main.js': `
        const many = require('../../../libs/many/src/index.js');
        const use = () => many.name9 + many.more();
        for (let times = 0; times < 200; times += 1) use();
        const isFast = require('node:vm').runInThisContext('(object) => %HasFastProperties(object)');
        console.log(use(), many.name7, isFast(many));`,
    });
    expect(lines).toBe('name91 name7 true\n');
  });

  it.each([
    'Object.defineProperty(exports, "one", { enumerable: true, get: function () { return one_1.one; } });',
    'const __exportStar = () => undefined;\n__exportStar(require("./one"), exports);',
  ])('says which export a circle of files leaves without a value: %s', (reexport) => {
    const files = {
      'apps/sample/src/main.js': 'require("./one.js");',
      'apps/sample/src/index.js': `var one_1 = require("./one");\n${reexport}`,
      'apps/sample/src/one.js': 'exports.one = void 0;\nrequire("./index.js");\nexports.one = 1;',
    };
    expect(() => bundleAndRun(files)).toThrow('one is exported before it is made');
  });
});

/** Bundles an app of these compiled files, and returns what it prints. */
function bundleAndRun(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'bundle-'));
  try {
    const dist = join(folder, 'dist');
    for (const [path, text] of Object.entries({ 'libs/none.js': '', ...files })) {
      mkdirSync(dirname(join(dist, path)), { recursive: true });
      writeFileSync(join(dist, path), `"use strict";\n${text}\n`);
    }
    const script = `import(${JSON.stringify(join(__dirname, 'bundle-apps.mjs'))}).then((m) => m.bundleApp(${JSON.stringify(dist)}, 'sample'))`;
    execFileSync(process.execPath, ['-e', script]);
    const app = join(dist, 'apps/sample/main.js');
    return execFileSync(process.execPath, ['--allow-natives-syntax', app], { encoding: 'utf8', stdio: 'pipe' });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
