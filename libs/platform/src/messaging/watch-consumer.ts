import { pause } from './pause';

/**
 * How often what an app owns on the broker is declared again. An app that was taken over may delete it, and RabbitMQ
 * reports neither the deletion of an exchange nor that of a binding.
 */
export const WATCH_INTERVAL_MS = 2_000;
/** Together below the time in which a broken queue must work again, with room for replacing it. */
const ABSENCES_BEFORE_LOST = 7;

/**
 * Checks one of our consumers from outside, because RabbitMQ does not notify the consumers of a replicated queue when
 * its process died or was replaced: they would wait forever. If a queue reports several times in a row that it has no
 * consumer, while we are one, it has lost us; once may be a busy broker.
 * @param countConsumers returns 0 also when the queue cannot be described
 * @returns true if the consumer is lost, false if `signal` ended the check
 */
export async function watchConsumer(
  countConsumers: () => Promise<number>,
  signal: AbortSignal,
  intervalMs: number = WATCH_INTERVAL_MS,
): Promise<boolean> {
  let absences = 0;
  while (absences < ABSENCES_BEFORE_LOST) {
    await pause(intervalMs, signal);
    if (signal.aborted) return false;
    absences = (await countConsumers()) > 0 ? 0 : absences + 1;
  }
  return !signal.aborted;
}

/** Runs a task at intervals until `signal` aborts. @throws the first error of the task */
export async function repeat(task: () => Promise<void>, signal: AbortSignal): Promise<void> {
  for (;;) {
    await pause(WATCH_INTERVAL_MS, signal);
    if (signal.aborted) return;
    await task();
  }
}
