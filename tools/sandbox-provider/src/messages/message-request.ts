import { readFormat } from '../answers/answer-format';
import { Conversation } from '../answers/conversation';
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
import type { AnswerRequest, ToolChoice, ToolSpec } from '../answers/answer';

export interface MessageRequest extends AnswerRequest {
  readonly streams: boolean;
}

export function readMessageRequest(body: JsonObject): MessageRequest {
  const maximumTokens = integerMember(body, 'max_tokens', 1, 10_000_000);
  if (maximumTokens === null) throw new SandboxError(400, 'max_tokens: Field required', 'max_tokens');
  return { ...readCountable(body), maximumTokens, streams: booleanMember(body, 'stream', false) };
}

/** Reads the part of a request that `count_tokens` accepts too. */
export function readCountable(body: JsonObject): AnswerRequest {
  const conversation = new Conversation();
  conversation.readContent(body.system, 'system');
  requiredListMember(body, 'messages').forEach((message, index) => readMessage(message, index, conversation));
  const tools = readTools(listMember(body, 'tools'), conversation);
  const choice = isObject(body.tool_choice) ? body.tool_choice : {};
  const outputConfig = isObject(body.output_config) ? body.output_config : {};
  return {
    lastUserText: conversation.lastUserText,
    toolResult: conversation.toolResult,
    promptTokens: conversation.promptTokens,
    tools,
    toolChoice: readToolChoice(choice),
    allowsParallelTools: choice.disable_parallel_tool_use !== true,
    maximumTokens: null,
    stops: stringsMember(body, 'stop_sequences', 100),
    format: readFormat(outputConfig.format ?? body.output_format, 'output_config.format', (format) => format.schema),
  };
}

function readMessage(message: unknown, index: number, conversation: Conversation): void {
  const name = `messages.${index}`;
  if (!isObject(message)) throw new SandboxError(400, `${name}: must be an object`);
  if (message.role === 'assistant') {
    readAssistant(message, conversation);
    return;
  }
  if (message.role !== 'user') throw new SandboxError(400, `${name}.role: must be 'user' or 'assistant'`);
  readUser(message, name, conversation);
}

function readAssistant(message: JsonObject, conversation: Conversation): void {
  if (typeof message.content === 'string') conversation.countText(message.content);
  else conversation.countJson(message.content ?? []);
  conversation.addAssistant();
}

/** A message with only tool results does not change the last user text. */
function readUser(message: JsonObject, name: string, conversation: Conversation): void {
  const content: readonly unknown[] = Array.isArray(message.content) ? message.content : [];
  const results = content.filter((part) => isObject(part) && part.type === 'tool_result');
  const others = results.length === 0 ? message.content : content.filter((part) => !results.includes(part));
  const text = conversation.readContent(others, `${name}.content`);
  if (text !== '' || results.length === 0) conversation.addUser(text);
  for (const result of results) {
    const resultContent = isObject(result) ? result.content : undefined;
    conversation.addToolResult(conversation.readContent(resultContent, `${name}.content`));
  }
}

/** Server tools (a `type` other than custom) are accepted and never used. */
function readTools(tools: readonly unknown[], conversation: Conversation): ToolSpec[] {
  conversation.countJson(tools);
  return tools.flatMap((tool, index): ToolSpec[] => {
    if (!isObject(tool) || textOf(tool.name) === '') throw new SandboxError(400, `tools.${index}.name: Field required`);
    if (tool.type !== undefined && tool.type !== 'custom') return [];
    return [{ name: textOf(tool.name), parameters: tool.input_schema }];
  });
}

function readToolChoice(choice: JsonObject): ToolChoice {
  switch (choice.type) {
    case undefined:
    case 'auto':
      return 'auto';
    case 'none':
      return 'none';
    case 'any':
      return 'required';
    case 'tool':
      return { name: textOf(choice.name) };
    default:
      throw new SandboxError(400, 'tool_choice.type: is not a known choice');
  }
}
