import { drawSchedule, FAULTS } from './fault-schedule';

describe(drawSchedule.name, () => {
  it('is the same for the same seed and another for another', () => {
    expect(drawSchedule(7, 12, 1_000, FAULTS)).toEqual(drawSchedule(7, 12, 1_000, FAULTS));
    expect(drawSchedule(8, 12, 1_000, FAULTS)).not.toEqual(drawSchedule(7, 12, 1_000, FAULTS));
  });

  it('brings every fault once before it brings one twice, in the order of the calls', () => {
    for (let seed = 0; seed < 50; seed += 1) {
      const schedule = drawSchedule(seed, FAULTS.length, 2_000, FAULTS);
      expect(new Set(schedule.map(({ fault }) => fault)).size).toBe(FAULTS.length);
      const calls = schedule.map(({ atCalls }) => atCalls);
      expect(calls).toEqual(calls.toSorted((one, other) => one - other));
      expect(calls[0]).toBeGreaterThan(0);
      expect(calls.at(-1)).toBeLessThan(2_000);
    }
  });
});
