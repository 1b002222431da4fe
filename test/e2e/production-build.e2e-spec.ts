import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../scripts/checkout';
import { dyingAt } from '../support/failpoint-deaths';
import { APP_NAMES } from '../support/installation';

const dist = join(root, 'dist');
const library = join(dist, 'libs/failpoints/src/index.js');

function programsIn(folder: string): string[] {
  return readdirSync(join(dist, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.js'))
    .map((name) => join(folder, name));
}

/** A process that passes two failpoints, turn by turn, three times each, and says so. */
function passIn(environment: Readonly<Record<string, string>>): {
  output: string;
  errors: string;
  signal: string | null;
} {
  const script = `
    const { failpoint } = require(${JSON.stringify(library)});
    for (let turn = 1; turn <= 3; turn += 1) {
      failpoint('batch-stored');
      process.stdout.write('stored ' + turn + ' ');
      failpoint('batch-accepted');
    }`;
  const { stdout, stderr, signal } = spawnSync(process.execPath, ['-e', script], {
    env: { PATH: process.env.PATH, ...environment },
    encoding: 'utf8',
  });
  return { output: stdout.trim(), errors: stderr, signal };
}

describe('a failpoint', () => {
  it('kills a process that was prepared for it, at the pass that was asked for, and lets nothing more run', () => {
    const { output, errors, signal } = passIn(dyingAt('batch-stored:kill9@3'));
    expect({ output, signal }).toEqual({ output: 'stored 1 stored 2', signal: 'SIGKILL' });
    expect(errors).toBe('Killed at the failpoint batch-stored, pass 3\n');
  });

  it('is passed where another one, or none, was asked for', () => {
    expect(passIn(dyingAt('job-handled:kill9@1'))).toMatchObject({ output: 'stored 1 stored 2 stored 3' });
    expect(passIn(dyingAt(''))).toEqual({ output: 'stored 1 stored 2 stored 3', errors: '', signal: null });
  });

  it('is passed in a process that was not prepared', () => {
    const environment = { FAILPOINT: 'batch-stored:kill9@1' };
    expect(passIn(environment)).toEqual({ output: 'stored 1 stored 2 stored 3', errors: '', signal: null });
  });
});

describe('the production build', () => {
  it('has nothing that could make a process die at a failpoint, only calls of an empty function', () => {
    const programs = ['apps', 'libs', 'tools'].flatMap(programsIn);
    expect(programs.length).toBeGreaterThan(300);
    expect(programs.filter((name) => /\bFAILPOINT\b/.test(readFileSync(join(dist, name), 'utf8')))).toEqual([]);
    const { failpoint } = require(library) as { failpoint: () => void };
    expect(String(failpoint)).toBe('function failpoint(_name) { }');
  });

  it.each(APP_NAMES)('of %s does not read FAILPOINT', (app) => {
    const { status, stdout } = spawnSync(process.execPath, [join(dist, 'apps', app, 'main.js')], {
      env: { PATH: process.env.PATH, FAILPOINT: 'nonsense', LOG_LEVEL: 'nonsense' },
      encoding: 'utf8',
    });
    expect(status).toBe(1);
    expect(stdout).toContain('LOG_LEVEL must be one of');
    expect(stdout).not.toContain('FAILPOINT');
  });
});
