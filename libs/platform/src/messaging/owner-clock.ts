import type { CallContract, QueueSpec } from '@libs/contracts';

class ReadClockRequest {}

export class ClockReading {
  /** Milliseconds since the epoch, by the clock of PostgreSQL. */
  nowMs: number;
}

/** The wire name of the question what time it is, which every owner of calls answers, whoever may ask it anything. */
export const READ_CLOCK = 'clock.read';

/**
 * Asks the owner of a queue for the time by which it judges whether a change comes too late. The deadline of a change
 * is this time and what its asker will still wait, so the clocks of askers do not matter.
 */
export function clockOf(queue: QueueSpec, timeoutMs: number): CallContract<ReadClockRequest, ClockReading> {
  return {
    kind: 'call',
    queue,
    name: READ_CLOCK,
    timeoutMs,
    askedBy: [],
    repeat: 'harmless',
    request: ReadClockRequest,
    response: ClockReading,
  };
}
