import { backoffMs, pause, settledWithin } from './pause';

describe(backoffMs.name, () => {
  it.each([
    [1, 1_000],
    [2, 2_000],
    [3, 4_000],
    [4, 5_000],
    [1_000, 5_000],
  ])('after %i failures waits at most %i ms and at least three quarters of that', (failures, longest) => {
    for (let draw = 0; draw < 50; draw += 1) {
      const waitMs = backoffMs(failures, { firstMs: 1_000, longestMs: 5_000 });
      expect(waitMs).toBeLessThanOrEqual(longest);
      expect(waitMs).toBeGreaterThanOrEqual(longest * 0.75);
    }
  });
});

describe(pause.name, () => {
  it('ends early, without an error, when it is no longer wanted', async () => {
    const controller = new AbortController();
    const paused = pause(60_000, controller.signal);
    controller.abort();
    await expect(paused).resolves.toBeUndefined();
  });
});

describe(settledWithin.name, () => {
  it('tells work that ended, in whatever way, from work that did not', async () => {
    await expect(settledWithin(Promise.resolve(), 1_000)).resolves.toBe(true);
    await expect(settledWithin(Promise.reject(new Error('failed')), 1_000)).resolves.toBe(true);
    await expect(settledWithin(new Promise(() => undefined), 5)).resolves.toBe(false);
  });
});
