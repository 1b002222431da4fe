import type { Evidence, FaultRecord } from '../evidence';
import type { PlannedFault } from '../fault-plan';
import type { ProcessName } from '../parts';

/** What an installation promises under faults. */
export type StormPromise =
  | 'no internal error'
  | 'only known refusals'
  | 'every request has an answer'
  | 'an answer is whole'
  | 'a stream has one ending'
  | 'calls succeed once faults are over'
  | 'an accepted batch exists'
  | 'a submission is accepted once'
  | 'a batch keeps its promises'
  | 'lines fail only for their own reasons'
  | 'every charge has a cause'
  | 'every cause has a charge'
  | 'an answered call is charged as its answer said'
  | 'nothing is charged that no provider answered'
  | 'a call is settled once'
  | 'answers are repeated only by faults'
  | 'no hold outlives its owner'
  | 'the books balance'
  | 'credit is never negative'
  | 'a revoked key is refused within a second'
  | 'a video ends once'
  | 'a film is made once'
  | 'no process ends by itself'
  | 'no error is uncaught'
  | 'processes come back'
  | 'the work comes to an end'
  | 'memory and connections come back'
  | 'no message is left';

export interface StormViolation {
  readonly promise: StormPromise;
  /** Which call, batch, row or process, and what it should have been. */
  readonly what: string;
}

export type Check = (evidence: Evidence) => StormViolation[];

/** Whether a fault was active between two moments, or had ended less than `afterMs` before. */
export function wasDuring(
  { faults }: Evidence,
  fromMs: number,
  toMs: number,
  afterMs: number,
  which: (fault: Pick<PlannedFault, 'kind' | 'target'>) => boolean = () => true,
): boolean {
  return faults.some((fault: FaultRecord) => fault.startMs <= toMs && fault.endMs + afterMs >= fromMs && which(fault));
}

/** Whether a process ended, or was away, between two moments. */
export function wasAway({ deaths }: Evidence, process: ProcessName, fromMs: number, toMs: number): boolean {
  return deaths.some(
    (death) => death.process === process && death.atMs <= toMs && (death.backMs ?? Infinity) >= fromMs,
  );
}

/** Whether a process ended between two moments. */
export function diedBetween({ deaths }: Evidence, process: ProcessName, fromMs: number, toMs: number): boolean {
  return deaths.some((death) => death.process === process && death.atMs >= fromMs && death.atMs <= toMs);
}
