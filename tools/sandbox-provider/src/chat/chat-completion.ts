import { nextId, unixSeconds } from '../http/ids';
import { logprobsOf } from './chat-logprobs';
import type { Answer, ToolCall } from '../answers/answer';
import type { NamedModel } from '../behaviours/model-behaviour';
import type { ChatRequest } from './chat-request';

export const SYSTEM_FINGERPRINT = 'fp_sluice_sandbox';

export interface ChatUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details: object;
  readonly completion_tokens_details: object;
}

/** The answer to a call that does not stream: a `chat.completion` object. */
export function chatCompletion(request: ChatRequest, model: NamedModel, answers: readonly Answer[]): object {
  return {
    id: nextId('chatcmpl-'),
    object: 'chat.completion',
    created: unixSeconds(),
    model: model.name,
    choices: answers.map((answer, index) => ({
      index,
      message: messageOf(answer),
      logprobs: request.topLogprobs === null ? null : logprobsOf(answer.text, request.topLogprobs),
      finish_reason: answer.finish,
    })),
    ...(model.behaviour.omitsUsage ? {} : { usage: chatUsage(request, model, answers) }),
    service_tier: 'default',
    system_fingerprint: SYSTEM_FINGERPRINT,
  };
}

export function chatUsage(request: ChatRequest, model: NamedModel, answers: readonly Answer[]): ChatUsage {
  const completion = answers.reduce((sum, answer) => sum + answer.outputTokens, 0);
  return {
    prompt_tokens: request.promptTokens,
    completion_tokens: completion,
    total_tokens: request.promptTokens + completion,
    prompt_tokens_details: {
      cached_tokens: Math.min(model.behaviour.cachedTokens, request.promptTokens),
      audio_tokens: 0,
    },
    completion_tokens_details: {
      reasoning_tokens: 0,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

function messageOf(answer: Answer): object {
  const isToolCall = answer.toolCalls.length > 0;
  return {
    role: 'assistant',
    content: isToolCall ? null : answer.text,
    refusal: null,
    annotations: [],
    ...(isToolCall ? { tool_calls: answer.toolCalls.map(toolCallOf) } : {}),
  };
}

function toolCallOf(call: ToolCall): object {
  return { id: call.id, type: 'function', function: { name: call.name, arguments: call.arguments } };
}
