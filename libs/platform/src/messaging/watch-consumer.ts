import type { ChannelModel } from 'amqplib';
import { describeQueue } from './topology';
import { pause } from './pause';

/** Together below the time in which a broken queue must work again, with room for replacing it. */
export const WATCH_INTERVAL_MS = 5_000;
const ABSENCES_BEFORE_LOST = 3;

/**
 * Checks one of our consumers from outside, because RabbitMQ does not notify the consumers of a replicated queue when
 * its process died or was replaced: they would wait forever. If a queue reports several times in a row that it has no
 * consumer, while we are one, it has lost us; once may be a busy broker.
 * @returns true if the consumer is lost, false if `signal` ended the check
 */
export async function watchConsumer(
  model: ChannelModel,
  queue: string,
  signal: AbortSignal,
  intervalMs: number = WATCH_INTERVAL_MS,
): Promise<boolean> {
  let absences = 0;
  while (absences < ABSENCES_BEFORE_LOST) {
    await pause(intervalMs, signal);
    if (signal.aborted) return false;
    const description = await describeQueue(model, queue);
    absences = description && description.consumerCount > 0 ? 0 : absences + 1;
  }
  return !signal.aborted;
}
