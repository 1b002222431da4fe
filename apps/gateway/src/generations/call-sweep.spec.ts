import type { TaskRunner } from '@libs/platform';
import { CallSweep, type SweepRound } from './call-sweep';

const silent = { log() {}, warn() {}, error() {} };
const atOnce: TaskRunner = { run: (_task, _turn, work) => work() };

/** Each round takes a minute, longer than a first failure rests. */
class SlowSweep extends CallSweep {
  readonly left: string[][] = [];

  constructor(private readonly rounds: readonly SweepRound[]) {
    super('slow', silent, atOnce);
  }

  protected override async round(exceptIds: readonly string[]): Promise<SweepRound> {
    this.left.push([...exceptIds]);
    jest.advanceTimersByTime(60_000);
    return this.rounds[this.left.length - 1]!;
  }
}

const failing = (...ids: readonly string[]): SweepRound => ({
  isOver: false,
  failed: new Map(ids.map((id) => [id, new Error('locked')])),
});

describe(CallSweep.name, () => {
  beforeEach(() => jest.useFakeTimers());

  afterEach(() => jest.useRealTimers());

  it('leaves what failed out of all later rounds of a pass', async () => {
    const sweep = new SlowSweep([failing('a', 'b'), failing('c'), failing(), { isOver: true, failed: new Map() }]);
    await sweep.sweep();
    expect(sweep.left).toEqual([[], ['a', 'b'], ['a', 'b', 'c'], ['a', 'b', 'c']]);
  });

  it('takes forty rounds at most', async () => {
    const sweep = new SlowSweep(Array.from({ length: 100 }, () => failing()));
    await sweep.sweep();
    expect(sweep.left).toHaveLength(40);
  });
});
