import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../scripts/checkout';
import { APP_NAMES } from '../support/installation';

const dist = join(root, 'dist');

function programsIn(folder: string): string[] {
  return readdirSync(join(dist, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.js'))
    .map((name) => join(folder, name));
}

describe('the production build', () => {
  it('has no trace of a failpoint', () => {
    const programs = ['apps', 'libs', 'tools'].flatMap(programsIn);
    expect(programs.length).toBeGreaterThan(300);
    expect(programs.filter((name) => /failpoint/i.test(readFileSync(join(dist, name), 'utf8')))).toEqual([]);
    expect(existsSync(join(dist, 'libs/failpoints'))).toBe(false);
    expect(existsSync(join(dist, 'node_modules/@libs/failpoints'))).toBe(false);
  });

  it.each(APP_NAMES)('of %s does not read FAILPOINT', (app) => {
    const { status, stdout } = spawnSync(process.execPath, [join(dist, 'apps', app, 'src/main.js')], {
      env: { PATH: process.env.PATH, FAILPOINT: 'nonsense', LOG_LEVEL: 'nonsense' },
      encoding: 'utf8',
    });
    expect(status).toBe(1);
    expect(stdout).toContain('LOG_LEVEL must be one of');
    expect(stdout).not.toContain('FAILPOINT');
  });
});
