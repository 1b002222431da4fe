import type { VideoStep } from '@libs/persistence';

export type StepKind = 'submission' | 'poll';

/** Initial values. */
const ASSUMED_SECONDS: Readonly<Record<StepKind, number>> = { submission: 5, poll: 1 };
/** Weight of the latest step in the mean. */
const WEIGHT = 0.05;

export const kindOf = (step: VideoStep): StepKind => (step === 'poll' ? 'poll' : 'submission');

/** Exponential means of how long steps of videos take in this process. */
export class StepTimes {
  private readonly seconds = { ...ASSUMED_SECONDS };

  took(kind: StepKind, seconds: number): void {
    this.seconds[kind] += WEIGHT * (seconds - this.seconds[kind]);
  }

  secondsOf(kind: StepKind): number {
    return this.seconds[kind];
  }
}
