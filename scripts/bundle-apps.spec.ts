import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from './checkout';

const APPS = ['auth', 'batch-worker', 'credentials', 'gateway', 'video-worker'];
const FORMS = join(__dirname, '../test/support/shared-forms.cjs');

describe('an app in one file', () => {
  // Without an environment an app ends as soon as it is loaded.
  it.each(APPS)('leaves V8 room for the maps of objects: %s', (app) => {
    const main = join(root, 'dist/apps', app, 'main.js');
    const { stdout, stderr } = spawnSync(process.execPath, ['--allow-natives-syntax', '--require', FORMS, main], {
      env: {},
      encoding: 'utf8',
    });
    expect(stdout + stderr).toContain('Bad environment');
    expect(stdout).toContain('forms shared: [true,true,true,true]');
  });
});
