import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { TreeMeter } from './process-tree';

/** A process whose child works for 300 ms of processor time once it is asked to, and then ends. */
const PARENT = `
  const { spawn } = require('node:child_process');
  const work = 'while (process.cpuUsage().user < 300_000);';
  process.stdin.once('data', () => {
    spawn(process.execPath, ['-e', work]).on('exit', () => process.stdout.write('done'));
  });
  process.stdout.write('ready');
`;

let parent: ChildProcess;

beforeEach(async () => {
  parent = spawn(process.execPath, ['-e', PARENT]);
  await once(parent.stdout!, 'data');
});

afterEach(() => parent.kill('SIGKILL'));

describe(TreeMeter.name, () => {
  it('counts the processor time of a child, also when that has ended', async () => {
    const meter = new TreeMeter(parent.pid!);
    parent.stdin!.write('go');
    await once(parent.stdout!, 'data');
    const { cpuMs } = meter.stop();
    expect(cpuMs).toBeGreaterThanOrEqual(250);
    expect(cpuMs).toBeLessThan(3_000);
  });

  it('counts no time in which the processes wait', async () => {
    const meter = new TreeMeter(parent.pid!);
    await new Promise((resolve) => void setTimeout(resolve, 500));
    expect(meter.stop().cpuMs).toBeLessThan(250);
  });
});
