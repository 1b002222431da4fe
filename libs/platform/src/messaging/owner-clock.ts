import type { CallContract, QueueSpec } from '@libs/contracts';
import { AppError } from '@libs/errors';

class ReadClockRequest {}

export class ClockReading {
  /** Milliseconds since the epoch, by the clock of PostgreSQL. */
  nowMs: number;
}

/** Wire name of the question for the time. Each owner of calls answers it to all of its askers. */
export const READ_CLOCK = 'clock.read';

type ReadClock = CallContract<ReadClockRequest, ClockReading>;

/** Returns the contract that asks the owner of a queue for the time of its database. */
export function clockOf(queue: QueueSpec, timeoutMs: number): ReadClock {
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

/** Longer than any change may take: a second try needs no second reading. */
const READING_LASTS_MS = 30_000;
/** Delay before another process of the owner is asked. */
const ASK_AGAIN_MS = 1_000;

/**
 * Computes deadlines of changes by the clock of their owner, so that the clocks of askers do not matter: the last time
 * that the owner reported, plus the time since then. The report took a moment to arrive, so a deadline is early by that
 * moment and never late.
 */
export class OwnerClocks {
  readonly #readings = new Map<string, { readonly aheadMs: number; readonly readAtMs: number }>();

  constructor(private readonly ask: (question: ReadClock) => Promise<ClockReading>) {}

  /** @param remainingMs how long the caller still waits @throws AppError if the owner does not answer in that time */
  async endOf(queue: QueueSpec, remainingMs: () => number): Promise<number> {
    const reading = this.#recent(queue) ?? (await this.#read(queue, remainingMs));
    return Math.floor(performance.now() + reading.aheadMs) + remainingMs();
  }

  #recent({ name }: QueueSpec): { readonly aheadMs: number } | undefined {
    const reading = this.#readings.get(name);
    return reading && performance.now() - reading.readAtMs < READING_LASTS_MS ? reading : undefined;
  }

  async #read(queue: QueueSpec, remainingMs: () => number): Promise<{ readonly aheadMs: number }> {
    for (;;) {
      const waitMs = remainingMs();
      try {
        const { nowMs } = await this.ask(clockOf(queue, Math.min(ASK_AGAIN_MS, waitMs)));
        const readAtMs = performance.now();
        const reading = { aheadMs: nowMs - readAtMs, readAtMs };
        this.#readings.set(queue.name, reading);
        return reading;
      } catch (error) {
        if (waitMs <= ASK_AGAIN_MS || AppError.from(error).code !== 'timeout') throw error;
      }
    }
  }
}
