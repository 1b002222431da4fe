import { createHash } from 'node:crypto';
import { defined, type JsonObject } from '@libs/json';
import type {
  CanonicalRequest,
  ResponseFormat,
  Sampling,
  ToolChoice,
  ToolDefinition,
} from '../../model/canonical-request';
import type { Message, Part } from '../../model/conversation';
import { CheckedObject } from '../checked-object';
import { lostTool, noteIdleToolSettings, unknownMembers } from '../known-members';
import { readCache, readContent } from './content-reader';
import { readReasoning } from './reasoning-settings';
import { KNOWN_MEMBERS } from './known-members';

/** Name of the response format for APIs that require one; this API has no name for it. */
const FORMAT_NAME = 'response';

/**
 * Reads a messages request into the canonical model.
 * @throws AppError invalid_request with the path of the invalid field
 */
export function readRequest(members: JsonObject): CanonicalRequest {
  const body = new CheckedObject(members);
  const unread = unknownMembers(members, KNOWN_MEMBERS);
  const choice = body.object('tool_choice');
  const toolChoice = choice && readToolChoice(choice);
  const tools = readTools(body, unread);
  noteIdleToolSettings({ toolChoice }, { offered: body.objects('tools').length, left: tools.length }, unread);
  const request: CanonicalRequest = {
    messages: [...readSystem(body, unread), ...readMessages(body, unread)],
    tools,
    toolChoice,
    areParallelToolCallsAllowed: choice && readParallel(choice),
    responseFormat: readFormat(body.object('output_config')),
    sampling: readSampling(body),
    maxOutputTokens: body.integer('max_tokens'),
    stopSequences: body.strings('stop_sequences') ?? [],
    ...readReasoning(body, unread),
    ...readCache(body),
    serviceTier: readServiceTier(body, unread),
    endUser: readEndUser(body),
    unread: [],
  };
  return { ...defined(request), unread: [...unread] };
}

function readSystem(body: CheckedObject, unread: Set<string>): Message[] {
  const parts = readContent(body, 'system', unread);
  return parts.length === 0 ? [] : [{ role: 'system', parts }];
}

function readMessages(body: CheckedObject, unread: Set<string>): Message[] {
  if (!body.has('messages')) throw body.refuse('messages', 'is required');
  return body.objects('messages').flatMap((message) => {
    const role = message.oneOf('role', ['user', 'assistant', 'system']);
    if (role === undefined) throw message.refuse('role', 'is required');
    const parts = readContent(message, 'content', unread);
    if (role === 'user') return readTurn(parts);
    return parts.length === 0 ? [] : [{ role, parts }];
  });
}

/** Reads a user's turn. Tool results become separate messages, as in other APIs. */
function readTurn(parts: readonly Part[]): Message[] {
  const read: { role: 'user' | 'tool'; parts: Part[] }[] = [];
  for (const part of parts) {
    const last = read.at(-1);
    if (part.type === 'tool-result') read.push({ role: 'tool', parts: [part] });
    else if (last?.role === 'user') last.parts.push(part);
    else read.push({ role: 'user', parts: [part] });
  }
  return read;
}

function readTools(body: CheckedObject, unread: Set<string>): ToolDefinition[] {
  return body.objects('tools').flatMap((tool) => {
    const type = tool.string('type') ?? 'custom';
    if (type !== 'custom') {
      unread.add(lostTool(type));
      return [];
    }
    return [readTool(tool)];
  });
}

function readTool(tool: CheckedObject): ToolDefinition {
  return {
    name: tool.requiredString('name'),
    ...defined({ description: tool.string('description') }),
    parameters: tool.object('input_schema')?.members ?? null,
    ...defined({ strict: tool.boolean('strict') }),
    ...readCache(tool),
  };
}

function readToolChoice(choice: CheckedObject): ToolChoice {
  const type = choice.oneOf('type', ['auto', 'any', 'tool', 'none']);
  if (type === undefined) throw choice.refuse('type', 'is required');
  if (type === 'tool') return { type, name: choice.requiredString('name') };
  return { type: type === 'any' ? 'required' : type };
}

function readParallel(choice: CheckedObject): boolean | undefined {
  const isDisabled = choice.boolean('disable_parallel_tool_use');
  return isDisabled === undefined ? undefined : !isDisabled;
}

function readFormat(config: CheckedObject | undefined): ResponseFormat | undefined {
  const format = config?.object('format');
  if (format === undefined) return undefined;
  if (format.requiredString('type') !== 'json_schema') throw format.refuse('type', 'must be json_schema');
  const { members: schema } = format.requiredObject('schema');
  return { type: 'json-schema', name: format.string('name') ?? FORMAT_NAME, schema, strict: true };
}

function readSampling(body: CheckedObject): Sampling {
  return defined({ temperature: body.number('temperature'), topP: body.number('top_p'), topK: body.integer('top_k') });
}

/** Reads the tier. `standard_only` is the default tier; `speed: fast` is priority unless a tier is named. */
function readServiceTier(body: CheckedObject, unread: Set<string>): string | undefined {
  const tier = body.string('service_tier');
  if ((tier ?? 'auto') === 'auto' && body.value('speed') === 'fast') return 'priority';
  if (body.value('speed') === 'fast') unread.add('speed');
  return tier === 'standard_only' ? 'default' : tier;
}

function readEndUser(body: CheckedObject): string | undefined {
  const user = body.object('metadata')?.string('user_id') ?? body.string('user');
  return user === undefined ? undefined : createHash('sha256').update(user).digest('hex');
}
