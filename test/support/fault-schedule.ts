/** What can go wrong around a batch while it runs. */
export const FAULTS = [
  'a worker dies',
  'the gateway dies',
  'leases run out',
  'a worker freezes',
  'database connections end',
  'the database is away',
  'Redis is away',
  'Redis is silent',
  'messages come again',
  'the broker restarts',
] as const;
export type Fault = (typeof FAULTS)[number];

export interface ScheduledFault {
  /** When the upstream has had so many calls. */
  readonly atCalls: number;
  readonly fault: Fault;
}

/**
 * Faults spread over `calls` calls, drawn by the seed alone: the same seed is the same schedule on every machine.
 * No fault comes twice before each has come once.
 */
export function drawSchedule(seed: number, count: number, calls: number, among: readonly Fault[]): ScheduledFault[] {
  const random = generator(seed);
  const schedule: ScheduledFault[] = [];
  let left: Fault[] = [];
  for (let index = 0; index < count; index += 1) {
    if (left.length === 0) left = [...among];
    const [fault] = left.splice(Math.floor(random() * left.length), 1);
    const share = (index + 0.25 + 0.5 * random()) / count;
    schedule.push({ atCalls: Math.max(1, Math.floor(share * calls)), fault: fault! });
  }
  return schedule;
}

/** Mulberry32: from 0 to below 1, the same sequence for the same seed. */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
