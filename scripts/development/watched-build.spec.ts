import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../checkout';
import { WatchedBuild } from './watched-build';

const SETTINGS = {
  compilerOptions: { outDir: 'dist', rootDir: '.', module: 'nodenext', target: 'es2023', types: [] },
  include: ['apps'],
};

/** A project of one app that the real compiler takes. */
function smallProject(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-watched-'));
  mkdirSync(join(folder, 'apps/auth/src'), { recursive: true });
  mkdirSync(join(folder, 'dist/libs'), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'tsconfig.build.json'), JSON.stringify(SETTINGS));
  return folder;
}

describe(WatchedBuild.name, () => {
  let folder: string;
  let build: WatchedBuild;
  let notify: () => void;
  const said: string[] = [];
  const taken: string[] = [];
  let takenAtStart = 0;
  /** In one step: the compiler would also take a file that is only half written. */
  const source = (text: string): void => {
    writeFileSync(join(folder, 'main.ts.new'), text);
    renameSync(join(folder, 'main.ts.new'), join(folder, 'apps/auth/src/main.ts'));
  };
  const compiled = (): string => readFileSync(join(folder, 'dist/apps/auth/src/main.js'), 'utf8');

  const until = (condition: () => boolean): Promise<void> =>
    new Promise((done) => {
      notify = () => {
        if (condition()) done();
      };
      notify();
    });

  beforeAll(async () => {
    folder = smallProject();
    source('export const answer: number = 1;');
    let before = '';
    const bundle = {
      write: () => {
        const text = taken.length === 0 && before === '' ? 'as built' : compiled();
        const isOther = before !== '' && before !== text;
        before = text;
        return Promise.resolve(isOther);
      },
      close: () => Promise.resolve(),
    };
    const say = (line: string): void => {
      said.push(line);
      notify();
    };
    const onChange = (names: readonly string[]): Promise<void> => {
      taken.push(`${names.join()}: ${/answer = (\d)/.exec(compiled())?.[1]}`);
      notify();
      return Promise.resolve();
    };
    build = new WatchedBuild(folder, () => Promise.resolve(bundle), ['auth'], say, onChange);
    notify = () => undefined;
    await build.start();
    takenAtStart = taken.length;
  });

  afterAll(async () => {
    await build.close();
    rmSync(folder, { recursive: true, force: true });
  });

  // The compiler does not see changes of files that it has read before it watches them.
  it('has started once the compiler has compiled everything and watches', () => {
    expect(takenAtStart).toBe(1);
  });

  it('hands over an app whose file changed, once what changed is compiled', async () => {
    await until(() => taken.length === 1);
    source('export const answer: number = 2;');
    await until(() => taken.length === 2);
    expect(taken).toEqual(['auth: 1', 'auth: 2']);
  });

  it('shows the errors of the compiler and leaves the apps as they are, until they are mended', async () => {
    source("export const answer: number = 'three';");
    await until(() => said.length === 1);
    expect(said[0]).toMatch(/main\.ts.*TS2322/);
    expect(said[0]).toMatch(/The apps go on with what was built before\.$/);
    expect(taken).toHaveLength(2);
    source('export const answer: number = 4;');
    await until(() => taken.length === 3);
    expect(taken[2]).toBe('auth: 4');
  });
});

describe('the bundle of an app', () => {
  it('gives classes their own names for good, and functions that are made once it is loaded none', () => {
    const folder = smallProject();
    const src = join(folder, 'dist/apps/auth/src');
    try {
      mkdirSync(src, { recursive: true });
      for (const file of ['one.js', 'two.js']) {
        writeFileSync(
          join(src, file),
          'export class Same {}; export const late = () => { class Late {}; const inner = () => 1; return [inner, Late]; };',
        );
      }
      const print = 'const [f, L] = two.late(); console.log(one.Same.name, two.Same.name, L.name, f.name === "inner");';
      const main = `import * as one from './one.js'; import * as two from './two.js'; setTimeout(() => { ${print} });`;
      writeFileSync(join(src, 'main.js'), main);
      const bundler = pathToFileURL(join(root, 'scripts/bundle-apps.mjs')).href;
      const program = `import { bundleApp } from '${bundler}'; await bundleApp('${folder}/dist', 'auth');`;
      execFileSync(process.execPath, ['--input-type=module', '-e', program]);
      const said = execFileSync(process.execPath, [join(folder, 'dist/apps/auth/main.js')], { encoding: 'utf8' });
      expect(said).toBe('Same Same Late false\n');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  /** Runs steps with a bundle of `main.js` and `answer.js`; returns what they print, and then what the app prints. */
  function outputOf(steps: string): { readonly steps: string; readonly app: string; readonly source: string } {
    const folder = smallProject();
    try {
      const source = join(folder, 'dist/apps/auth/src/');
      mkdirSync(source, { recursive: true });
      const bundler = pathToFileURL(join(root, 'scripts/bundle-apps.mjs')).href;
      const program = `
        import { utimesSync, writeFileSync } from 'node:fs';
        import { openBundle } from '${bundler}';
        const source = '${source}';
        const dist = '${folder}/dist';
        const write = (file, text) => writeFileSync(source + file, text);
        write('main.js', "console.log(require('./answer').answer);");
        write('answer.js', 'exports.answer = 1;');
        ${steps}
        await bundle.close();`;
      const run = (args: readonly string[]): string =>
        execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
      const printed = run(['--input-type=module', '-e', program]);
      return { steps: printed, app: run([join(folder, 'dist/apps/auth/main.js')]), source };
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  it('is written again after one that failed, and with what a file has needed since the first', () => {
    const { app, source } = outputOf(`
        for (const file of ['main.js', 'answer.js']) utimesSync(source + file, 1, 1);
        const bundle = await openBundle(dist, 'auth');
        await bundle.write();
        write('answer.js', "exports.answer = require('./absent');");
        await bundle.write().catch(() => undefined);
        write('absent.js', 'module.exports = __dirname;');
        await bundle.write();`);
    expect(`${app.trim()}/`).toBe(source);
  });

  it('is written again only when a file that is in it was written', () => {
    const { steps, app } = outputOf(`
        for (const file of ['main.js', 'answer.js']) utimesSync(source + file, 1, 1);
        const bundle = await openBundle(dist, 'auth');
        const begun = Date.now();
        // However long a busy machine takes for the steps below.
        Date.now = () => begun;
        const written = [await bundle.write(), await bundle.write()];
        write('elsewhere.js', '');
        written.push(await bundle.write());
        write('answer.js', 'exports.answer = 2;');
        // The time that a file gets may be that of a tick before the build began.
        utimesSync(source + 'answer.js', begun / 1_000, (begun - 8) / 1_000);
        written.push(await bundle.write());
        console.log(JSON.stringify(written));`);
    expect(JSON.parse(steps)).toEqual([true, false, false, true]);
    expect(app).toBe('2\n');
  });
});
