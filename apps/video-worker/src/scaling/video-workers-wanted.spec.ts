import { StepTimes } from './step-times';
import { videoWorkersWanted } from './video-workers-wanted';

const PLACES = { steps: 32, deliveries: 64 };
const IDLE = { stepsUnderWay: 0, submissionsDue: 0, pollsDue: 0, deliveries: 0 };
const seconds = { submission: 6, poll: 0.5 };

const wanted = (demand: Partial<typeof IDLE>): number =>
  videoWorkersWanted({ ...IDLE, ...demand }, PLACES, (kind) => seconds[kind]);

describe(videoWorkersWanted, () => {
  it('is none while nothing is due', () => {
    expect(wanted({})).toBe(0);
  });

  it('has a place for every step that is under way', () => {
    expect([wanted({ stepsUnderWay: 1 }), wanted({ stepsUnderWay: 32 }), wanted({ stepsUnderWay: 33 })]).toEqual([
      1, 1, 2,
    ]);
  });

  it('has places for steps that are due, by how long they take', () => {
    expect(wanted({ stepsUnderWay: 32, submissionsDue: 500 })).toBe(5);
    expect(wanted({ stepsUnderWay: 32, pollsDue: 500 })).toBe(2);
  });

  it('follows deliveries where they need more workers than videos do', () => {
    expect(wanted({ stepsUnderWay: 32, deliveries: 200 })).toBe(4);
  });
});

describe(StepTimes, () => {
  it('follows the steps of this process', () => {
    const times = new StepTimes();
    for (let step = 0; step < 200; step += 1) times.took('poll', 4);
    expect(times.secondsOf('poll')).toBeCloseTo(4, 3);
    expect(times.secondsOf('submission')).toBe(5);
  });
});
