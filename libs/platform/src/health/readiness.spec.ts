import { Readiness } from './readiness';

/** A check that is answered when the test says so. */
function openCheck() {
  let answers: ((value: boolean) => void)[] = [];
  let asked = 0;
  return {
    check: () => {
      asked += 1;
      return new Promise<boolean>((resolve) => answers.push(resolve));
    },
    answer: (value: boolean) => {
      for (const resolve of answers) resolve(value);
      answers = [];
    },
    asked: () => asked,
  };
}

describe(Readiness.name, () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('is ready when every check says so', async () => {
    const readiness = new Readiness();
    readiness.addCheck('postgresql', () => true);
    readiness.addCheck('rabbitmq', async () => true);
    expect(await readiness.report()).toEqual({
      ready: true,
      phase: 'serving',
      checks: { postgresql: 'up', rabbitmq: 'up' },
    });
  });

  it('names the check that says no, throws or rejects', async () => {
    const readiness = new Readiness();
    readiness.addCheck('good', () => true);
    readiness.addCheck('no', () => false);
    readiness.addCheck('throws', () => {
      throw new Error('postgres://secret');
    });
    readiness.addCheck('rejects', () => Promise.reject(new Error('secret')));
    const report = await readiness.report();
    expect(report.ready).toBe(false);
    expect(report.checks).toEqual({ good: 'up', no: 'down', throws: 'down', rejects: 'down' });
    expect(JSON.stringify(report)).not.toContain('secret');
  });

  it('is not ready before it serves, and never again once it drains', async () => {
    const readiness = new Readiness({ phase: 'starting' });
    expect((await readiness.report()).ready).toBe(false);
    readiness.serve();
    expect((await readiness.report()).ready).toBe(true);
    readiness.drain();
    expect(await readiness.report()).toMatchObject({ ready: false, phase: 'draining' });
    readiness.serve();
    expect((await readiness.report()).ready).toBe(false);
  });

  it('waits for an answer while the process is too busy to read it', async () => {
    jest.useRealTimers();
    const readiness = new Readiness({ checkTimeoutMs: 20 });
    readiness.addCheck('postgresql', async () => {
      for (let turn = 0; turn < 4; turn += 1) {
        const untilMs = performance.now() + 30;
        while (performance.now() < untilMs);
        await new Promise((resolve) => setImmediate(resolve));
      }
      return true;
    });
    expect((await readiness.report()).checks).toEqual({ postgresql: 'up' });
  });

  it('asks a check once a second, however often it is asked itself', async () => {
    const readiness = new Readiness();
    let asked = 0;
    let up = true;
    readiness.addCheck('x', () => {
      asked += 1;
      return up;
    });
    await Promise.all(Array.from({ length: 100 }, () => readiness.report()));
    up = false;
    await jest.advanceTimersByTimeAsync(999);
    expect((await readiness.report()).ready).toBe(true);
    expect(asked).toBe(1);
    await jest.advanceTimersByTimeAsync(1);
    expect((await readiness.report()).ready).toBe(false);
    expect(asked).toBe(2);
  });

  it('gives up on a check after a second and does not start it again while it hangs', async () => {
    const readiness = new Readiness();
    const { check, answer, asked } = openCheck();
    readiness.addCheck('x', check);
    for (let round = 0; round < 3; round += 1) {
      const report = readiness.report();
      await jest.advanceTimersByTimeAsync(1_000);
      expect((await report).checks).toEqual({ x: 'timeout' });
      await jest.advanceTimersByTimeAsync(1_000);
    }
    expect(asked()).toBe(1);
    answer(true);
    await jest.advanceTimersByTimeAsync(0);
    const report = readiness.report();
    answer(true);
    expect((await report).checks).toEqual({ x: 'up' });
    expect(asked()).toBe(2);
  });

  it('refuses a second check of the same name', () => {
    const readiness = new Readiness();
    readiness.addCheck('x', () => true);
    expect(() => readiness.addCheck('x', () => true)).toThrow('already');
  });
});
