import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { descriptorLimit, descriptorWarning } from './descriptor-limit';

const RUN_TYPESCRIPT = join(__dirname, '../../../../libs/platform/src/testing/typescript-register.cjs');

describe(descriptorLimit.name, () => {
  it('is what the kernel allows this process', () => {
    const script = `process.stdout.write(String(require('${join(__dirname, 'descriptor-limit.ts')}').descriptorLimit()))`;
    const shell = ['-c', 'ulimit -n 777 && exec "$0" -r "$1" -e "$2"', process.execPath, RUN_TYPESCRIPT, script];
    const { stdout } = spawnSync('sh', shell, { encoding: 'utf8', env: { PATH: process.env.PATH } });
    expect(stdout).toBe('777');
  });
});

describe(descriptorWarning.name, () => {
  const needs = { maxConnections: 1_000, maxRequestsInFlight: 500 };

  it('names the settings that the limit is too small for, and what they need', () => {
    expect(descriptorWarning(1_024, needs)).toMatch(/may open 1024 files.*MAX_CONNECTIONS \(1000\).*up to 1756/);
  });

  it('says nothing where the limit is enough or not known', () => {
    expect([1_756, Number.POSITIVE_INFINITY, null].map((limit) => descriptorWarning(limit, needs))).toEqual([
      null,
      null,
      null,
    ]);
  });
});
