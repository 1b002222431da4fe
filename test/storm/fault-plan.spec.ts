import { FAULT_KINDS, hindersQuestions, planFaults } from './fault-plan';

const LENGTH_MS = 600_000;

describe(planFaults, () => {
  it('draws the same plan from the same seed, and another from another', () => {
    expect(planFaults(7, LENGTH_MS, new Set())).toEqual(planFaults(7, LENGTH_MS, new Set()));
    expect(planFaults(7, LENGTH_MS, new Set())).not.toEqual(planFaults(8, LENGTH_MS, new Set()));
  });

  it('draws every kind within ten minutes of a few seeds', () => {
    const drawn = new Set([1, 2, 3].flatMap((seed) => planFaults(seed, LENGTH_MS, new Set()).map(({ kind }) => kind)));
    expect([...drawn].toSorted()).toEqual([...FAULT_KINDS].toSorted());
  });

  it('draws no kind that is left out', () => {
    const without = new Set(FAULT_KINDS.filter((kind) => kind !== 'delay'));
    const plan = planFaults(1, LENGTH_MS, without);
    expect(new Set(plan.map(({ kind }) => kind))).toEqual(new Set(['delay']));
    expect(planFaults(1, LENGTH_MS, new Set(FAULT_KINDS))).toEqual([]);
  });

  it('strikes no place twice at once, and ends every fault in time', () => {
    const plan = planFaults(3, LENGTH_MS, new Set());
    const placeOf = (target: string): string => target.split('>')[0]!;
    for (const [, faults] of Map.groupBy(plan, ({ target }) => placeOf(target))) {
      for (const [index, { atMs }] of faults.entries()) {
        const before = faults[index - 1];
        if (before !== undefined) expect(atMs).toBeGreaterThan(before.atMs + before.durationMs);
      }
    }
    expect(Math.max(...plan.map(({ atMs, durationMs }) => atMs + durationMs))).toBeLessThanOrEqual(LENGTH_MS);
  });
});

describe(hindersQuestions, () => {
  it.each([
    ['kill-app', 'auth', true],
    ['kill-rabbitmq', 'rabbitmq', true],
    ['kill-postgres', 'postgres', true],
    ['cut-all', 'auth>postgres', true],
    ['cut-all', 'gateway-1>rabbitmq', true],
    ['freeze-app', 'gateway-2', true],
    ['cut-all', 'gateway-1>postgres', false],
    ['kill-app', 'batch-worker-1', false],
    ['kill-redis', 'redis', false],
    ['upstream-slow', 'calls', false],
  ] as const)('knows of %s at %s: %s', (kind, target, hinders) => {
    expect(hindersQuestions({ kind, target })).toBe(hinders);
  });
});
