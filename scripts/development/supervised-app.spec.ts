import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../checkout';
import { AppLog } from './app-log';
import { SupervisedApp, type RestartTimings } from './supervised-app';

const LIVES_ON = `setInterval(() => {}, 1000);`;
const IGNORES_SIGTERM = `setInterval(() => {}, 1000); process.on('SIGTERM', () => {}); process.stderr.write('up\\n');`;
const DIES_AT_ONCE = `process.exit(3);`;
const WRITES_TO_STDERR = `process.stderr.write('deaf to the world\\n'); setInterval(() => {}, 1000);`;

interface Event {
  readonly event: 'started' | 'died';
  readonly what: string;
  readonly pid: number | undefined;
}

describe(SupervisedApp.name, () => {
  let folder: string;
  let events: Event[];
  let shown: string[];
  let app: SupervisedApp;
  let notify: () => void;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-supervisor-'));
    events = [];
    shown = [];
    notify = () => undefined;
  });

  afterEach(async () => {
    await app.stop(1_000);
    rmSync(folder, { recursive: true, force: true });
  });

  const supervise = (program: string, timings: Partial<RestartTimings> = {}): void => {
    const entry = join(folder, 'app.js');
    writeFileSync(entry, program);
    const say = (line: string): void => {
      shown.push(line);
      notify();
    };
    const log = new AppLog({ name: 'gateway', file: join(folder, 'gateway.log'), say });
    app = new SupervisedApp(
      { name: 'gateway', entry, folder, environment: process.env },
      log,
      (changed, event, what) => {
        events.push({ event, what, pid: changed.pid });
        notify();
      },
      { firstDelayMs: 10, longestDelayMs: 40, settledAfterMs: 60_000, ...timings },
    );
    app.start();
  };

  const until = (condition: () => boolean): Promise<void> =>
    new Promise((done) => {
      notify = () => {
        if (condition()) done();
      };
      notify();
    });

  const starts = (): Event[] => events.filter(({ event }) => event === 'started');

  it('starts an app again that was killed, under another pid', async () => {
    supervise(LIVES_ON);
    const first = app.pid ?? 0;
    process.kill(first, 'SIGKILL');
    await until(() => starts().length === 2);
    expect(app.pid).toBeGreaterThan(0);
    expect(app.pid).not.toBe(first);
    expect(events[1]?.what).toBe('was ended by SIGKILL; it is started again in 0.01 s');
  });

  it('replaces an app at once, without counting a death', async () => {
    supervise(LIVES_ON, { firstDelayMs: 60_000 });
    const first = app.pid;
    await app.replace(1_000);
    expect(app.pid).toBeGreaterThan(0);
    expect(app.pid).not.toBe(first);
    expect(app.deaths).toBe(0);
    expect(starts()).toHaveLength(2);
  });

  it('replaces an app that waits for its next start', async () => {
    supervise(DIES_AT_ONCE, { firstDelayMs: 60_000 });
    await until(() => events.some(({ event }) => event === 'died'));
    await app.replace(1_000);
    expect(starts()).toHaveLength(2);
  });

  it('does not start an app again that was stopped while it was replaced', async () => {
    supervise(LIVES_ON);
    const replaced = app.replace(1_000);
    await app.stop(1_000);
    await replaced;
    expect(app.pid).toBeUndefined();
    expect(starts()).toHaveLength(1);
  });

  it('waits twice as long after each death, up to the longest wait', async () => {
    supervise(DIES_AT_ONCE);
    await until(() => events.filter(({ event }) => event === 'died').length === 4);
    const waits = events.filter(({ event }) => event === 'died').map(({ what }) => what);
    expect(waits).toEqual(
      [10, 20, 40, 40].map((delayMs) => `exited with code 3; it is started again in ${delayMs / 1_000} s`),
    );
    expect(app.deaths).toBe(4);
  });

  it('begins with the first wait again once an app has settled', async () => {
    supervise(DIES_AT_ONCE, { settledAfterMs: 0 });
    await until(() => events.filter(({ event }) => event === 'died').length === 3);
    expect(events.filter(({ event }) => event === 'died').map(({ what }) => what)).toEqual(
      Array.from({ length: 3 }, () => 'exited with code 3; it is started again in 0.01 s'),
    );
  });

  it('kills an app that does not end in time, and leaves it down', async () => {
    supervise(IGNORES_SIGTERM);
    await until(() => shown.length > 0);
    await app.stop(300);
    expect(app.pid).toBeUndefined();
    expect(starts()).toHaveLength(1);
    expect(readFileSync(join(folder, 'gateway.log'), 'utf8')).toContain('was ended by SIGKILL');
  });

  it('shows on the terminal what the app writes to stderr', async () => {
    supervise(WRITES_TO_STDERR);
    await until(() => shown.length > 0);
    expect(shown).toEqual(['[gateway] deaf to the world']);
  });
});

describe('exit-with-parent.cjs', () => {
  it('ends the child when the pipe of a parent that died closes', async () => {
    const program = `process.on('SIGTERM', () => process.exit(7)); setInterval(() => {}, 1000); console.log('up');`;
    const preload = join(root, 'scripts/exit-with-parent.cjs');
    const child = spawn(process.execPath, ['-r', preload, '-e', program], { stdio: ['pipe', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    child.stdin.destroy();
    const [code] = (await once(child, 'exit')) as [number];
    expect(code).toBe(7);
  });
});
