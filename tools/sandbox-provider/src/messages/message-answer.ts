import { nextId } from '../http/ids';
import type { Answer } from '../answers/answer';
import type { NamedModel } from '../behaviours/model-behaviour';
import type { MessageRequest } from './message-request';

export type ContentBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; readonly input: unknown };

export interface MessageUsage {
  readonly input_tokens: number;
  readonly cache_creation_input_tokens: number;
  readonly cache_read_input_tokens: number;
  readonly output_tokens: number;
  readonly service_tier: 'standard';
}

export interface Message {
  readonly id: string;
  readonly type: 'message';
  readonly role: 'assistant';
  readonly model: string;
  readonly content: readonly ContentBlock[];
  readonly stop_reason: string | null;
  readonly stop_sequence: string | null;
  readonly usage?: MessageUsage;
}

/** A message. Tokens read from the cache are not part of `input_tokens`, as in the original. */
export function messageOf(request: MessageRequest, model: NamedModel, answer: Answer): Message {
  return {
    id: nextId('msg_'),
    type: 'message',
    role: 'assistant',
    model: model.name,
    content: contentOf(answer),
    stop_reason: stopReasonOf(answer),
    stop_sequence: answer.stoppedBy,
    ...(model.behaviour.omitsUsage ? {} : { usage: usageOf(request, model, answer) }),
  };
}

function contentOf(answer: Answer): ContentBlock[] {
  if (answer.toolCalls.length === 0) return answer.text === '' ? [] : [{ type: 'text', text: answer.text }];
  return answer.toolCalls.map((call) => ({
    type: 'tool_use',
    id: call.id.replace('call_', 'toolu_'),
    name: call.name,
    input: call.input,
  }));
}

function stopReasonOf(answer: Answer): string {
  if (answer.finish === 'length') return 'max_tokens';
  if (answer.finish === 'tool_calls') return 'tool_use';
  return answer.stoppedBy === null ? 'end_turn' : 'stop_sequence';
}

function usageOf(request: MessageRequest, model: NamedModel, answer: Answer): MessageUsage {
  const cached = Math.min(model.behaviour.cachedTokens, request.promptTokens);
  return {
    input_tokens: request.promptTokens - cached,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cached,
    output_tokens: answer.outputTokens,
    service_tier: 'standard',
  };
}
