import { composeAnswer, promptHash } from '../answers/answer';
import { parseJsonObject } from '../http/json-members';
import { jsonReply, namedEvent, type Call, type Reply } from '../http/reply';
import { errorValue, SandboxError } from '../http/sandbox-error';
import { messageOf } from './message-answer';
import { readCountable, readMessageRequest } from './message-request';
import { messageStream } from './message-stream';
import type { InferenceStart } from '../behaviours/inference-start';

/** `POST /v1/messages`. */
export function answerMessage(start: InferenceStart, call: Call): Reply {
  const body = parseJsonObject(call.body);
  const { model, playback, refusal } = start.begin('anthropic', body.model, call.body);
  if (refusal) return refusal;
  const request = readMessageRequest(body);
  const promptId = promptHash(request.lastUserText);
  start.counts.countPrompt(promptId);
  const answer = composeAnswer(request, promptId, model.behaviour.words);
  const { promptTokens } = request;
  start.charge('anthropic', model, { promptTokens, outputTokens: answer.outputTokens });
  const message = messageOf(request, model, answer);
  if (!request.streams) return jsonReply(message, playback);
  const error = new SandboxError(500, '[sandbox] The model name asked for an error in mid-stream');
  const errorEvent = namedEvent({ type: 'error', ...errorValue('anthropic', error) });
  return { kind: 'stream', events: messageStream(message), errorEvent, playback };
}

/** `POST /v1/messages/count_tokens`. */
export function countMessageTokens(start: InferenceStart, call: Call): Reply {
  const body = parseJsonObject(call.body);
  const { playback, refusal } = start.begin('anthropic', body.model, call.body);
  return refusal ?? jsonReply({ input_tokens: readCountable(body).promptTokens }, playback);
}
