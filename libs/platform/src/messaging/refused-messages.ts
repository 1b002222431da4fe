import { Logger } from '@nestjs/common';
import { messagesRefusedTotal } from './messaging-metrics';
import type { Refusal } from './signatures';

export type MessageKind = 'question' | 'answer' | 'event';

/** Anyone who may write to the broker can cause refusals, so the log gets one line of a sort in this time. */
const LOG_EVERY_MS = 10_000;
const logger = new Logger('RefusedMessages');
const loggedAtMs = new Map<string, number>();

/** Counts and logs a message that is dropped unread. */
export function refuseMessage(kind: MessageKind, reason: Refusal, about: string): void {
  messagesRefusedTotal.inc({ kind, reason });
  const nowMs = performance.now();
  const sort = `${kind} ${reason}`;
  if (nowMs - (loggedAtMs.get(sort) ?? Number.NEGATIVE_INFINITY) < LOG_EVERY_MS) return;
  loggedAtMs.set(sort, nowMs);
  logger.warn(`refused: ${kind}, ${reason}: ${about}`);
}
