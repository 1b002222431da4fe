import type { WorkerSpeed } from '@libs/persistence';
import { expectedDuration } from './lane-forecast';

/** Ten slots and lines of 100 ms: a hundred lines per second. */
const lane = { slots: 10, lines: 50, call_ms: 5_000, backlog_lines: 0, backlog_ms: 0 };
const worker: WorkerSpeed = { isAlive: true, concurrency: 10, lane };

const seconds = (speeds: readonly WorkerSpeed[], lines: number, backlog: Record<string, number> = {}): number =>
  Math.round(
    expectedDuration(speeds, { lines, workspaceId: 'own', backlog: new Map(Object.entries(backlog)) })! / 1_000,
  );

describe(expectedDuration, () => {
  it('is unknown while no worker runs, and while none has called the provider', () => {
    const demand = { lines: 1, workspaceId: 'own', backlog: new Map<string, number>() };
    expect(expectedDuration([], demand)).toBeNull();
    expect(expectedDuration([{ ...worker, lane: null }], demand)).toBeNull();
    expect(expectedDuration([{ ...worker, isAlive: false }], demand)).toBeNull();
  });

  it('follows from slots and the time of a line', () => {
    expect(seconds([worker], 10_000)).toBe(101);
    expect(seconds([worker, worker], 10_000)).toBe(51);
  });

  it('is more than the time of one line for the smallest batch', () => {
    const slow = { ...worker, lane: { ...lane, call_ms: 50_000 } };
    expect(expectedDuration([slow], { lines: 1, workspaceId: 'own', backlog: new Map() })).toBeGreaterThan(1_000);
  });

  it('prefers what went through while lines were waiting', () => {
    const refused = { ...worker, lane: { ...lane, backlog_lines: 500, backlog_ms: 50_000 } };
    expect(seconds([refused], 10_000)).toBe(1_001);
  });

  it('counts workers that have not met the provider, and believes those that are gone', () => {
    expect(seconds([worker, { ...worker, lane: null }], 10_000)).toBe(51);
    expect(
      seconds(
        [
          { ...worker, lane: null },
          { ...worker, isAlive: false },
        ],
        10_000,
      ),
    ).toBe(101);
  });

  it('lets earlier batches of the workspace go first, and shares with others', () => {
    expect(seconds([worker], 1_000, { own: 9_000 })).toBe(100);
    expect(seconds([worker], 1_000, { other: 500 })).toBe(15);
    expect(seconds([worker], 1_000, { other: 400_000, another: 400_000 })).toBe(30);
  });
});
