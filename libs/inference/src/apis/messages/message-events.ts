import type { AppError } from '@libs/errors';
import { messageErrorBody } from '../../dialects/anthropic-messages';
import { eventOf } from '../../dialects/anthropic-messages/relayed-stream';
import type { StreamEvents } from '../stream-events';
import { besideOf, type UnansweredCall } from '../unanswered-call';
import { MessagesCiter } from './messages-citer';

/** Returns the only event of a Messages stream that no provider answered. */
export function messageFailure(call: UnansweredCall, error: AppError): Buffer {
  const body = { ...messageErrorBody(error, call.requestId), ...besideOf(call, error) };
  return eventOf('error', JSON.stringify(body)).bytes;
}

export const messageStream: StreamEvents = {
  ownEnd: null,
  answerIn: (data) => data,
  withAnswer: (_data, answer) => answer,
  citer: (sources) => new MessagesCiter(sources),
};
