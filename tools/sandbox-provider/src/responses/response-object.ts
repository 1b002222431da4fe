import { nextId, unixSeconds } from '../http/ids';
import type { Answer } from '../answers/answer';
import type { JsonObject } from '../http/json-members';
import type { NamedModel } from '../behaviours/model-behaviour';
import type { ResponseRequest } from './response-request';

export interface MessageItem {
  readonly id: string;
  readonly type: 'message';
  readonly status: string;
  readonly role: 'assistant';
  readonly content: readonly OutputText[];
}

export interface OutputText {
  readonly type: 'output_text';
  readonly text: string;
  readonly annotations: readonly [];
  readonly logprobs: readonly [];
}

export interface FunctionCallItem {
  readonly id: string;
  readonly type: 'function_call';
  readonly status: string;
  readonly call_id: string;
  readonly name: string;
  readonly arguments: string;
}

export type OutputItem = MessageItem | FunctionCallItem;

export interface ResponseObject {
  readonly id: string;
  readonly status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  readonly output: readonly OutputItem[];
  readonly [member: string]: unknown;
}

export function outputText(text: string): OutputText {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

/** The output items of an answer, finished. */
export function outputItems(answer: Answer): OutputItem[] {
  if (answer.toolCalls.length === 0) {
    const status = answer.finish === 'length' ? 'incomplete' : 'completed';
    return [{ id: nextId('msg_'), type: 'message', status, role: 'assistant', content: [outputText(answer.text)] }];
  }
  return answer.toolCalls.map((call) => ({
    id: nextId('fc_'),
    type: 'function_call',
    status: 'completed',
    call_id: call.id,
    name: call.name,
    arguments: call.arguments,
  }));
}

/** The fields that a response repeats from its request, with their defaults. */
const ECHOED: JsonObject = {
  instructions: null,
  max_tool_calls: null,
  prompt_cache_key: null,
  reasoning: { effort: null, summary: null },
  safety_identifier: null,
  temperature: 1,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [],
  top_logprobs: 0,
  top_p: 1,
  truncation: 'disabled',
  user: null,
  metadata: {},
};

function echoOf(body: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(ECHOED).map(([name, fallback]) => [name, body[name] ?? fallback]));
}

/** Returns the response object before any output, for the first two events of a stream. */
export function openResponse(request: ResponseRequest, model: NamedModel): ResponseObject {
  return {
    ...echoOf(request.body),
    id: nextId('resp_'),
    object: 'response',
    created_at: unixSeconds(),
    completed_at: null,
    status: 'in_progress',
    background: false,
    error: null,
    incomplete_details: null,
    max_output_tokens: request.maximumTokens,
    model: model.name,
    output: [],
    parallel_tool_calls: request.allowsParallelTools,
    previous_response_id: null,
    service_tier: 'default',
    store: false,
    usage: null,
  };
}

/** The response object at its end: `incomplete` when the answer was cut at `max_output_tokens`. */
export function closeResponse(
  opened: ResponseObject,
  request: ResponseRequest,
  model: NamedModel,
  answer: Answer,
  output: readonly OutputItem[],
): ResponseObject {
  const isCut = answer.finish === 'length';
  return {
    ...opened,
    status: isCut ? 'incomplete' : 'completed',
    completed_at: isCut ? null : unixSeconds(),
    incomplete_details: isCut ? { reason: 'max_output_tokens' } : null,
    output,
    usage: model.behaviour.omitsUsage ? null : responseUsage(request, model, answer),
  };
}

function responseUsage(request: ResponseRequest, model: NamedModel, answer: Answer): object {
  return {
    input_tokens: request.promptTokens,
    input_tokens_details: { cached_tokens: Math.min(model.behaviour.cachedTokens, request.promptTokens) },
    output_tokens: answer.outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: request.promptTokens + answer.outputTokens,
  };
}
