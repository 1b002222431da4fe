import type { LaneSpeed, WorkerReport } from '@libs/persistence';
import { workersWanted, type QuotaDemand } from './workers-wanted';

const CONCURRENCY = 64;

/** Lines that take two seconds each. */
const lane = (slots: number): LaneSpeed => ({ slots, lines: 10, call_ms: 20_000, backlog_lines: 0, backlog_ms: 0 });

const worker = (slots: number | null, isAlive = true): WorkerReport => ({
  isAlive,
  concurrency: CONCURRENCY,
  lanes: slots === null ? {} : { acme: lane(slots) },
});

const demand = (lines: number, linesPerSecond: number, quota = 'acme'): QuotaDemand => ({
  quota,
  lines,
  linesPerSecond,
});

const wanted = (demands: readonly QuotaDemand[], reports: readonly WorkerReport[]): number =>
  workersWanted(demands, reports, CONCURRENCY).workers;

describe(workersWanted, () => {
  it('is none while no line is open', () => {
    expect(wanted([], [worker(CONCURRENCY)])).toBe(0);
  });

  it('is as many as make the calls at once that the goal needs', () => {
    // 500,000 lines in an hour, two seconds each: 278 calls at once.
    expect(workersWanted([demand(500_000, 500_000 / 3_600)], [worker(CONCURRENCY)], CONCURRENCY)).toEqual({
      workers: 5,
      calls: 278,
    });
  });

  it('assumes ten seconds for a model that was not called within a day', () => {
    expect(wanted([demand(500_000, 500_000 / 3_600)], [])).toBe(22);
  });

  it('believes what workers measured that are gone', () => {
    expect(wanted([demand(500_000, 500_000 / 3_600)], [worker(CONCURRENCY, false)])).toBe(5);
  });

  it('never wants more calls than there are lines', () => {
    expect(wanted([demand(3, 1_000)], [worker(CONCURRENCY)])).toBe(1);
  });

  it('wants no more workers than share what the provider takes', () => {
    expect(wanted([demand(500_000, 1_000)], [worker(18), worker(18), worker(18)])).toBe(1);
  });

  it('wants so many workers that they still meet the limit of the provider', () => {
    // Two workers at their most would make just the 128 calls that the provider takes.
    const workers = Array.from({ length: 8 }, () => worker(16));
    expect(wanted([demand(500_000, 1_000)], workers)).toBe(3);
  });

  it('does not take the trouble of one worker, or what a new one does not know, for the limit of the provider', () => {
    const many = [demand(500_000, 1_000)];
    expect(wanted(many, [worker(1), worker(CONCURRENCY), worker(CONCURRENCY)])).toBe(32);
    expect(wanted(many, [worker(20), worker(20), worker(CONCURRENCY)])).toBe(2);
    expect(wanted(many, [worker(20), worker(20), worker(null), worker(null)])).toBe(1);
  });

  it('adds up what different providers take', () => {
    const reports = [{ ...worker(1), lanes: { acme: lane(1), other: lane(CONCURRENCY) } }];
    expect(wanted([demand(1_000, 1_000), demand(1_000, 64, 'other')], reports)).toBe(3);
  });

  it('divides by what workers report to make at once', () => {
    const strong = { ...worker(CONCURRENCY * 4), concurrency: CONCURRENCY * 4 };
    expect(wanted([demand(500_000, 500_000 / 3_600)], [strong])).toBe(2);
  });
});
