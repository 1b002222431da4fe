import { readFormat } from '../answers/answer-format';
import { Conversation } from '../answers/conversation';
import { readToolChoice } from '../answers/tool-choice';
import {
  booleanMember,
  integerMember,
  isObject,
  listMember,
  requiredListMember,
  stringsMember,
  textOf,
  type JsonObject,
} from '../http/json-members';
import { SandboxError } from '../http/sandbox-error';
import type { AnswerRequest, ToolSpec } from '../answers/answer';

export interface ChatRequest extends AnswerRequest {
  readonly choices: number;
  readonly streams: boolean;
  readonly includesUsage: boolean;
  /** null: no log probabilities were asked for. */
  readonly topLogprobs: number | null;
}

const MAXIMUM_TOKENS = 10_000_000;

export function readChatRequest(body: JsonObject): ChatRequest {
  const conversation = readMessages(requiredListMember(body, 'messages'));
  const tools = readTools(listMember(body, 'tools'), conversation);
  const streamOptions = body.stream_options;
  return {
    lastUserText: conversation.lastUserText,
    toolResult: conversation.toolResult,
    promptTokens: conversation.promptTokens,
    tools,
    toolChoice: readToolChoice(body.tool_choice),
    allowsParallelTools: booleanMember(body, 'parallel_tool_calls', true),
    maximumTokens:
      integerMember(body, 'max_completion_tokens', 1, MAXIMUM_TOKENS) ??
      integerMember(body, 'max_tokens', 1, MAXIMUM_TOKENS),
    stops: stringsMember(body, 'stop', 4),
    format: readFormat(body.response_format, 'response_format', (format) =>
      isObject(format.json_schema) ? (format.json_schema.schema ?? {}) : undefined,
    ),
    choices: integerMember(body, 'n', 1, 128) ?? 1,
    streams: booleanMember(body, 'stream', false),
    includesUsage: isObject(streamOptions) && streamOptions.include_usage === true,
    topLogprobs: booleanMember(body, 'logprobs', false) ? (integerMember(body, 'top_logprobs', 0, 20) ?? 0) : null,
  };
}

function readMessages(messages: readonly unknown[]): Conversation {
  const conversation = new Conversation();
  messages.forEach((message, index) => {
    const name = `messages[${index}]`;
    if (!isObject(message)) throw new SandboxError(400, `'${name}' must be an object`, name);
    readMessage(message, name, conversation);
  });
  return conversation;
}

function readMessage(message: JsonObject, name: string, conversation: Conversation): void {
  const text = conversation.readContent(message.content, `${name}.content`);
  switch (message.role) {
    case 'user':
      return conversation.addUser(text);
    case 'tool':
    case 'function':
      return conversation.addToolResult(text);
    case 'assistant':
      conversation.countJson(listMember(message, 'tool_calls'));
      return conversation.addAssistant();
    case 'system':
    case 'developer':
      return;
    default:
      throw new SandboxError(400, `'${name}.role' is missing or unknown`, `${name}.role`);
  }
}

function readTools(tools: readonly unknown[], conversation: Conversation): ToolSpec[] {
  conversation.countJson(tools);
  return tools.flatMap((tool, index): ToolSpec[] => {
    if (!isObject(tool)) throw new SandboxError(400, `'tools[${index}]' must be an object`, 'tools');
    if (tool.type !== 'function') return [];
    const name = isObject(tool.function) ? textOf(tool.function.name) : '';
    if (name === '') throw new SandboxError(400, `Missing parameter: 'tools[${index}].function.name'`, 'tools');
    return [{ name, parameters: isObject(tool.function) ? tool.function.parameters : undefined }];
  });
}
