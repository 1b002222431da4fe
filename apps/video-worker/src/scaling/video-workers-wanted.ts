import type { VideoDemand } from '@libs/persistence';
import type { StepKind } from './step-times';

/** Concurrent work of one worker. */
export interface WorkerPlaces {
  readonly steps: number;
  readonly deliveries: number;
}

/** Seconds within which a step that is due should begin. */
const BEGUN_WITHIN_SECONDS = 30;

/**
 * Returns how many video workers begin every due step in time. Steps under way need one place each, and due steps the
 * places that begin all of them within 30 seconds. Videos and deliveries have separate places in each worker, so the
 * larger number of workers decides.
 */
export function videoWorkersWanted(
  demand: VideoDemand,
  places: WorkerPlaces,
  secondsOf: (kind: StepKind) => number,
): number {
  const due = demand.submissionsDue * secondsOf('submission') + demand.pollsDue * secondsOf('poll');
  const steps = demand.stepsUnderWay + due / BEGUN_WITHIN_SECONDS;
  return Math.ceil(Math.max(steps / places.steps, demand.deliveries / places.deliveries));
}
