import { findValue, spliceMembers } from '@libs/json';
import type { AppError } from '@libs/errors';
import { DONE_FRAME, joinFrames } from '../../model/answer-frame';
import { EventSink } from '../../dialects/openai-responses/stream-events';
import { besideResponse, failureOf } from '../../dialects/openai-responses/error';
import { readEcho, responseObject } from '../../dialects/openai-responses/response-object';
import { responseUsageObject } from '../../dialects/openai-responses/usage';
import type { StreamEvents } from '../stream-events';
import { besideOf, NOTHING_USED, type UnansweredCall } from '../unanswered-call';
import { ResponsesCiter } from './responses-citer';

/** Returns all events of a Responses stream that no provider answered. */
export function responseFailure(call: UnansweredCall, error: AppError): Buffer {
  const echo = readEcho({ ...call, model: { slug: call.model } }, null);
  const failure = failureOf(error);
  const { status } = failure;
  const begun = responseObject(echo, { status: 'in_progress', output: [] });
  const failed = responseObject(echo, { status, failure, output: [], usage: responseUsageObject(NOTHING_USED) });
  const sink = new EventSink();
  sink.emit('response.created', { response: begun });
  sink.emit('response.in_progress', { response: begun });
  sink.emit(`response.${status}`, { response: { ...failed, ...besideOf(call, error) }, ...besideResponse(failure) });
  return joinFrames([...sink.take(), DONE_FRAME]);
}

export const responseStream: StreamEvents = {
  ownEnd: null,
  answerIn: (data) => findValue(data, ['response']),
  withAnswer: (data, response) => spliceMembers(data, { set: { response } }),
  citer: (sources) => new ResponsesCiter(sources),
};
