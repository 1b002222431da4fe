import { findCacheMarkProblem } from '../inference/cache-control';
import { isNonEmptyString, isPlainObject } from '../validation/well-formed';

const ROLES = ['system', 'developer', 'user', 'assistant', 'tool', 'function'];
const MAX_FUNCTION_NAME = 64;

/** Checks `messages` of a chat completion: roles, content and tool calls. Unknown fields are not checked. */
export function findMessagesProblem(messages: unknown): string | null {
  if (!Array.isArray(messages) || messages.length === 0) return ' must be a non-empty array';
  for (let index = 0; index < messages.length; index += 1) {
    const problem = findMessageProblem(messages[index]);
    if (problem !== null) return `[${index}]${problem}`;
  }
  return null;
}

function findMessageProblem(message: unknown): string | null {
  if (!isPlainObject(message)) return ' must be an object';
  const { role, content, tool_calls: toolCalls } = message;
  if (typeof role !== 'string' || !ROLES.includes(role)) return `.role must be one of ${ROLES.join(', ')}`;
  if (role === 'tool' && !isNonEmptyString(message.tool_call_id)) return '.tool_call_id must be a non-empty string';
  const problem = findToolCallsProblem(toolCalls);
  if (problem !== null) return `.tool_calls${problem}`;
  return findContentProblem(content, role === 'assistant');
}

function findContentProblem(content: unknown, mayBeEmpty: boolean): string | null {
  if (content === undefined || content === null) return mayBeEmpty ? null : '.content is required';
  const problem = findPartsProblem(content);
  return problem === null ? null : `.content${problem}`;
}

function findPartsProblem(content: unknown): string | null {
  if (typeof content === 'string') return null;
  if (!Array.isArray(content)) return ' must be a string or an array of parts';
  for (let index = 0; index < content.length; index += 1) {
    const problem = findPartProblem(content[index]);
    if (problem !== null) return `[${index}]${problem}`;
  }
  return null;
}

function findPartProblem(part: unknown): string | null {
  if (!isPlainObject(part) || !isNonEmptyString(part.type)) return '.type must be a non-empty string';
  if (part.type === 'text' && typeof part.text !== 'string') return '.text must be a string';
  return findCacheMarkProblem(part);
}

function findToolCallsProblem(toolCalls: unknown): string | null {
  if (toolCalls === undefined || toolCalls === null) return null;
  if (!Array.isArray(toolCalls)) return ' must be an array';
  for (let index = 0; index < toolCalls.length; index += 1) {
    const call: unknown = toolCalls[index];
    if (!isPlainObject(call) || !isNonEmptyString(call.id)) return `[${index}].id must be a non-empty string`;
    if (call.type === 'function' && (!isPlainObject(call.function) || !isNonEmptyString(call.function.name))) {
      return `[${index}].function.name must be a non-empty string`;
    }
  }
  return null;
}

/** Checks `tools`: each has a type; a function has a name, object parameters and perhaps a mark for the prompt cache. */
export function findToolsProblem(tools: unknown): string | null {
  if (!Array.isArray(tools)) return ' must be an array';
  for (let index = 0; index < tools.length; index += 1) {
    const tool: unknown = tools[index];
    if (!isPlainObject(tool) || !isNonEmptyString(tool.type)) return `[${index}].type must be a non-empty string`;
    if (tool.type !== 'function') continue;
    const problem = findFunctionProblem(tool.function) ?? findCacheMarkProblem(tool);
    if (problem !== null) return `[${index}]${problem}`;
  }
  return null;
}

function findFunctionProblem(definition: unknown): string | null {
  if (!isPlainObject(definition)) return '.function must be an object';
  const { name, parameters } = definition;
  if (!isNonEmptyString(name) || name.length > MAX_FUNCTION_NAME || !/^[\w-]+$/.test(name)) {
    return `.function.name must be 1 to ${MAX_FUNCTION_NAME} letters, digits, underscores or dashes`;
  }
  const isAbsent = parameters === undefined || parameters === null;
  return isAbsent || isPlainObject(parameters) ? null : '.function.parameters must be an object';
}

/** Checks `stop`: a string, or at most four. */
export function findStopProblem(stop: unknown): string | null {
  if (typeof stop === 'string') return null;
  if (Array.isArray(stop) && stop.length <= 4 && stop.every((entry) => typeof entry === 'string')) return null;
  return ' must be a string or an array of at most 4 strings';
}

/** Checks `response_format`: an object with a known shape for its type. */
export function findResponseFormatProblem(format: unknown): string | null {
  if (!isPlainObject(format) || !isNonEmptyString(format.type)) return '.type must be a non-empty string';
  if (format.type !== 'json_schema') return null;
  const schema = format.json_schema;
  if (!isPlainObject(schema) || !isNonEmptyString(schema.name)) return '.json_schema.name must be a non-empty string';
  if (schema.name.length > MAX_FUNCTION_NAME) return `.json_schema.name is longer than ${MAX_FUNCTION_NAME} characters`;
  if (schema.schema !== undefined && !isPlainObject(schema.schema)) return '.json_schema.schema must be an object';
  return null;
}

/** Checks `metadata`: at most 16 pairs of text. */
export function findMetadataProblem(metadata: unknown): string | null {
  if (!isPlainObject(metadata)) return ' must be an object';
  const pairs = Object.entries(metadata);
  if (pairs.length > 16) return ' has more than 16 pairs';
  const fits = pairs.every(
    ([key, value]) => key.length <= 64 && !/[[\]]/.test(key) && typeof value === 'string' && value.length <= 512,
  );
  return fits ? null : ' must hold keys of at most 64 and texts of at most 512 characters';
}
