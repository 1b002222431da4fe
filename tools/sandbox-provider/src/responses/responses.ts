import { composeAnswer, promptHash } from '../answers/answer';
import { parseJsonObject } from '../http/json-members';
import { jsonReply, type Call, type Reply } from '../http/reply';
import { closeResponse, openResponse, outputItems } from './response-object';
import { readResponseRequest } from './response-request';
import { failedEvent, responseStream } from './response-stream';
import type { InferenceStart } from '../behaviours/inference-start';

/** `POST /v1/responses`. Nothing is stored: `store` is false in answers and `previous_response_id` is refused. */
export function answerResponse(start: InferenceStart, call: Call): Reply {
  const body = parseJsonObject(call.body);
  const { model, playback, refusal } = start.begin('openai', body.model, call.body);
  if (refusal) return refusal;
  const request = readResponseRequest(body);
  const promptId = promptHash(request.lastUserText);
  start.counts.countPrompt(promptId);
  const answer = composeAnswer(request, promptId, model.behaviour.words);
  const { promptTokens } = request;
  start.charge('openai', model, { promptTokens, outputTokens: answer.outputTokens });
  const opened = openResponse(request, model);
  const closed = closeResponse(opened, request, model, answer, outputItems(answer));
  if (!request.streams) return jsonReply(closed, playback);
  const events = responseStream(opened, closed);
  const { fault } = playback;
  const after = fault?.kind === 'error' ? Math.min(fault.after, events.length) : 0;
  return { kind: 'stream', events, errorEvent: failedEvent(opened, after), playback };
}
