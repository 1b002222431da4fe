import type { AppError } from '@libs/errors';
import { messageErrorBody } from '../../dialects/anthropic-messages';
import { eventOf } from '../../dialects/anthropic-messages/messages-stream';
import { lastEventStart, type StreamEnds } from '../stream-events';
import { besideOf, type UnansweredCall } from '../unanswered-call';
import { MessagesCiter } from './messages-citer';

/** The events that a stream of messages may end with. */
const LAST_HEADS = ['event: message_stop\n', 'event: error\n'].map((head) => Buffer.from(head));

/** Returns the one event of a message that no provider answered. */
export function messageFailure(call: UnansweredCall, error: AppError): Buffer {
  const body = { ...messageErrorBody(error, call.requestId), ...besideOf(call, error) };
  return eventOf('error', JSON.stringify(body));
}

export const messageStream: StreamEnds = {
  lastEventIn(events) {
    const start = lastEventStart(events);
    const isLast = LAST_HEADS.some((head) => events.subarray(start, start + head.length).equals(head));
    return isLast ? { start, end: events.length } : null;
  },
  ownEnd: null,
  answerIn: (data) => data,
  withAnswer: (_data, answer) => answer,
  citer: (sources) => new MessagesCiter(sources),
};
