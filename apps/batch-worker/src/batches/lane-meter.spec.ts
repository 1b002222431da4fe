import { LaneMeter, type LaneState } from './lane-meter';

const idle: LaneState = { waiting: new Map(), slotsOf: () => 8 };
const busy: LaneState = { waiting: new Map([['vendor', 100]]), slotsOf: () => 8 };

describe(LaneMeter.name, () => {
  let nowMs: number;
  let meter: LaneMeter;

  beforeEach(() => {
    nowMs = 0;
    meter = new LaneMeter(() => nowMs);
  });

  function run(lines: number, callMs: number, tookMs: number, state: LaneState) {
    for (let line = 0; line < lines; line += 1) meter.called('vendor', callMs, true);
    nowMs += tookMs;
    return meter.read(state)['vendor']!;
  }

  it('knows how long a line holds a slot, its repetitions included', () => {
    meter.called('vendor', 30, false);
    expect(run(1, 70, 5_000, idle)).toEqual({ slots: 8, lines: 1, call_ms: 100, backlog_lines: 0, backlog_ms: 0 });
  });

  it('counts lines per second only while lines were waiting from one reading to the next', () => {
    expect(run(400, 100, 5_000, busy).backlog_ms).toBe(0);
    const saturated = run(300, 100, 5_000, busy);
    expect(saturated.backlog_lines / saturated.backlog_ms).toBeCloseTo(0.06);
    const over = run(10, 100, 5_000, idle);
    expect(over.backlog_lines / over.backlog_ms).toBeCloseTo(0.06);
    expect(over.backlog_ms).toBeLessThan(saturated.backlog_ms);
  });

  it('sees a provider that takes nothing', () => {
    run(400, 100, 5_000, busy);
    run(400, 100, 5_000, busy);
    const { backlog_lines: lines, backlog_ms: ms } = run(0, 0, 5_000, busy);
    expect(lines / ms).toBeLessThan(0.045);
  });

  it('forgets what is long past, and nothing while the provider is not called', () => {
    run(1_000, 10, 60_000, idle);
    const slow = run(1_000, 1_000, 60_000, idle);
    expect(slow.call_ms / slow.lines).toBeCloseTo(670, 0);
    nowMs += 3_600_000;
    expect(meter.read(idle)['vendor']).toEqual(slow);
  });
});
