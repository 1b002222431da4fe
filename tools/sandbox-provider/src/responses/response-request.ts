import { readFormat } from '../answers/answer-format';
import { Conversation } from '../answers/conversation';
import { readToolChoice } from '../answers/tool-choice';
import { booleanMember, integerMember, isObject, listMember, textOf, type JsonObject } from '../http/json-members';
import { SandboxError } from '../http/sandbox-error';
import type { AnswerRequest, ToolSpec } from '../answers/answer';

export interface ResponseRequest extends AnswerRequest {
  readonly streams: boolean;
  /** The request's body: the response object repeats many of its fields. */
  readonly body: JsonObject;
}

export function readResponseRequest(body: JsonObject): ResponseRequest {
  if (typeof body.previous_response_id === 'string') {
    const message = 'The sandbox keeps no responses, so there is no previous one';
    throw new SandboxError(400, message, 'previous_response_id', 'previous_response_not_found');
  }
  const conversation = readInput(body);
  const text = isObject(body.text) ? body.text : {};
  return {
    lastUserText: conversation.lastUserText,
    toolResult: conversation.toolResult,
    tools: readTools(listMember(body, 'tools'), conversation),
    promptTokens: conversation.promptTokens,
    toolChoice: readToolChoice(body.tool_choice),
    allowsParallelTools: booleanMember(body, 'parallel_tool_calls', true),
    maximumTokens: integerMember(body, 'max_output_tokens', 1, 10_000_000),
    stops: [],
    format: readFormat(text.format, 'text.format', (format) => format.schema),
    streams: booleanMember(body, 'stream', false),
    body,
  };
}

function readInput(body: JsonObject): Conversation {
  const conversation = new Conversation();
  if (typeof body.instructions === 'string') conversation.countText(body.instructions);
  const { input } = body;
  if (typeof input === 'string') {
    conversation.addUser(conversation.readContent(input, 'input'));
    return conversation;
  }
  if (input === undefined || input === null) {
    throw new SandboxError(400, "Missing required parameter: 'input'", 'input', 'missing_required_parameter');
  }
  if (!Array.isArray(input)) throw new SandboxError(400, "'input' must be a string or an array", 'input');
  input.forEach((item: unknown, index) => {
    const name = `input[${index}]`;
    if (!isObject(item)) throw new SandboxError(400, `'${name}' must be an object`, name);
    readItem(item, name, conversation);
  });
  return conversation;
}

function readItem(item: JsonObject, name: string, conversation: Conversation): void {
  if (item.type === 'function_call_output') {
    return conversation.addToolResult(conversation.readContent(item.output, `${name}.output`));
  }
  if (item.type !== undefined && item.type !== 'message') {
    conversation.countJson(item);
    return conversation.addAssistant();
  }
  const text = conversation.readContent(item.content, `${name}.content`);
  switch (item.role) {
    case 'user':
      return conversation.addUser(text);
    case 'assistant':
      return conversation.addAssistant();
    case 'system':
    case 'developer':
      return;
    default:
      throw new SandboxError(400, `'${name}.role' is missing or unknown`, `${name}.role`);
  }
}

/** Tools that the provider would run itself (web search, code) are accepted and never used. */
function readTools(tools: readonly unknown[], conversation: Conversation): ToolSpec[] {
  conversation.countJson(tools);
  return tools.flatMap((tool, index): ToolSpec[] => {
    if (!isObject(tool)) throw new SandboxError(400, `'tools[${index}]' must be an object`, 'tools');
    if (tool.type !== 'function') return [];
    const name = textOf(tool.name);
    if (name === '') throw new SandboxError(400, `Missing required parameter: 'tools[${index}].name'`, 'tools');
    return [{ name, parameters: tool.parameters ?? undefined }];
  });
}
