import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { failpoint } from './failpoint';
import { readFailpoint } from './failpoint.env';

const RUN_TYPESCRIPT = join(__dirname, '../../platform/src/testing/typescript-register.cjs');

/** A process that passes two failpoints, turn by turn, three times each, and says so. */
function passIn(environment: Readonly<Record<string, string>>): {
  output: string;
  told: string;
  signal: string | null;
} {
  const script = `
    const { armFailpoint, failpoint } = require(${JSON.stringify(join(__dirname, 'failpoint.ts'))});
    armFailpoint();
    for (let turn = 1; turn <= 3; turn += 1) {
      failpoint('batch-stored');
      process.stdout.write('stored ' + turn + ' ');
      failpoint('batch-accepted');
    }`;
  const { stdout, stderr, signal } = spawnSync(process.execPath, ['-r', RUN_TYPESCRIPT, '-e', script], {
    env: { PATH: process.env.PATH, ...environment },
    encoding: 'utf8',
  });
  return { output: stdout.trim(), told: stderr, signal };
}

describe(failpoint.name, () => {
  it('kills the process at the pass that was asked for, says so, and lets nothing more run', () => {
    const { output, told, signal } = passIn({ FAILPOINT: 'batch-stored:kill9@3' });
    expect({ output, signal }).toEqual({ output: 'stored 1 stored 2', signal: 'SIGKILL' });
    expect(told).toBe('Killed at the failpoint batch-stored, pass 3\n');
  });

  it('is passed where another one, or none, was asked for', () => {
    expect(passIn({ FAILPOINT: 'job-handled:kill9@1' })).toMatchObject({ output: 'stored 1 stored 2 stored 3' });
    expect(passIn({})).toEqual({ output: 'stored 1 stored 2 stored 3', told: '', signal: null });
  });
});

describe(readFailpoint.name, () => {
  it('reads a name and a pass, and takes an empty variable for an unset one', () => {
    expect(readFailpoint({ FAILPOINT: 'video-submitted:kill9@12' })).toEqual({ name: 'video-submitted', pass: 12 });
    expect(readFailpoint({ FAILPOINT: '' })).toBeNull();
    expect(readFailpoint({})).toBeNull();
  });

  it.each([
    'batch-stored',
    'batch-stored:kill9',
    'batch-stored:kill9@0',
    'batch-stored:kill9@01',
    'batch-stored:kill9@1.5',
    'batch-stored:exit@1',
    'no-such-point:kill9@1',
    ' batch-stored:kill9@1',
    'batch-stored:kill9@1,batch-accepted:kill9@1',
  ])('refuses %p and says what would be right', (text) => {
    expect(() => readFailpoint({ FAILPOINT: text })).toThrow(/^Bad environment: FAILPOINT must be NAME:kill9@PASS, /);
  });
});
