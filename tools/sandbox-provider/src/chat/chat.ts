import { composeAnswer, promptHash, type Answer } from '../answers/answer';
import { parseJsonObject } from '../http/json-members';
import { dataEvent, jsonReply, type Call, type Reply } from '../http/reply';
import { errorValue, SandboxError } from '../http/sandbox-error';
import { chatCompletion } from './chat-completion';
import { readChatRequest } from './chat-request';
import { chatStream } from './chat-stream';
import type { InferenceStart } from '../behaviours/inference-start';

/** `POST /v1/chat/completions`. */
export function answerChat(start: InferenceStart, call: Call): Reply {
  const body = parseJsonObject(call.body);
  const { model, playback, refusal } = start.begin('openai', body.model, call.body);
  if (refusal) return refusal;
  const request = readChatRequest(body);
  const promptId = promptHash(request.lastUserText);
  start.counts.countPrompt(promptId);
  const answers: Answer[] = [];
  for (let index = 0; index < request.choices; index += 1) {
    answers.push(composeAnswer(request, promptId, model.behaviour.words, index));
  }
  const outputTokens = answers.reduce((sum, answer) => sum + answer.outputTokens, 0);
  start.charge('openai', model, { promptTokens: request.promptTokens, outputTokens });
  if (!request.streams) return jsonReply(chatCompletion(request, model, answers), playback);
  const error = new SandboxError(500, '[sandbox] The model name asked for an error in mid-stream');
  return {
    kind: 'stream',
    events: chatStream(request, model, answers),
    errorEvent: dataEvent(JSON.stringify(errorValue('openai', error))),
    playback,
  };
}
