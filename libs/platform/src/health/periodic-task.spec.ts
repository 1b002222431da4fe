import { PeriodicTask } from './periodic-task';
import { captureLog } from '../testing/captured-log';

describe(PeriodicTask.name, () => {
  let runs: number;
  let endRun: (() => void) | null;
  const slowRun = (): Promise<void> => {
    runs += 1;
    return new Promise((resolve) => (endRun = resolve));
  };
  const quickRun = async (): Promise<void> => {
    runs += 1;
  };

  beforeEach(() => {
    jest.useFakeTimers();
    runs = 0;
    endRun = null;
  });

  afterEach(() => jest.useRealTimers());

  it('runs for the first time after its interval, and then again and again', async () => {
    const task = new PeriodicTask({ name: 'test', everyMs: 100 }, quickRun);
    task.start();
    await jest.advanceTimersByTimeAsync(99);
    expect(runs).toBe(0);
    await jest.advanceTimersByTimeAsync(201);
    expect(runs).toBe(3);
    await task.stop();
  });

  it('runs at once when it is told to', async () => {
    const task = new PeriodicTask({ name: 'test', everyMs: 100, isImmediate: true }, quickRun);
    task.start();
    expect(runs).toBe(1);
    await jest.advanceTimersByTimeAsync(100);
    expect(runs).toBe(2);
    await task.stop();
  });

  it('counts its interval from the end of a run, so that none overlap', async () => {
    const task = new PeriodicTask({ name: 'test', everyMs: 100 }, slowRun);
    task.start();
    await jest.advanceTimersByTimeAsync(1_000);
    expect(runs).toBe(1);
    endRun!();
    await jest.advanceTimersByTimeAsync(99);
    expect(runs).toBe(1);
    await jest.advanceTimersByTimeAsync(1);
    expect(runs).toBe(2);
    const stopped = task.stop();
    endRun!();
    await stopped;
  });

  it('is stopped when its last run has ended, and does not run again', async () => {
    const task = new PeriodicTask({ name: 'test', everyMs: 100, isImmediate: true }, slowRun);
    task.start();
    let hasStopped = false;
    const stopped = task.stop().then(() => (hasStopped = true));
    await jest.advanceTimersByTimeAsync(500);
    expect([task.isStopped, hasStopped]).toEqual([true, false]);
    endRun!();
    await stopped;
    await jest.advanceTimersByTimeAsync(500);
    expect(runs).toBe(1);
  });

  it('runs again after a run that threw, and logs only the first failure in a row', async () => {
    const warnings = captureLog('warn');
    const task = new PeriodicTask({ name: 'test', everyMs: 100 }, () => {
      runs += 1;
      return runs === 3 ? Promise.resolve() : Promise.reject(new Error('broken'));
    });
    task.start();
    await jest.advanceTimersByTimeAsync(400);
    expect(runs).toBe(4);
    expect(warnings).toHaveLength(2);
    expect(warnings[0]).toContain('test failed');
    await task.stop();
  });

  it('leaves it to its runner whether a run takes place, and asks it at least once a minute', async () => {
    let asked = 0;
    const runner = {
      run: async (name: string, turn: { everyMs: number }, work: () => Promise<unknown>) => {
        expect([name, turn.everyMs]).toEqual(['test', 3_600_000]);
        asked += 1;
        if (asked === 2) await work();
      },
    };
    const task = new PeriodicTask({ name: 'test', everyMs: 3_600_000, runner }, quickRun);
    task.start();
    await jest.advanceTimersByTimeAsync(180_000);
    expect([asked, runs]).toEqual([3, 1]);
    await task.stop();
  });
});
