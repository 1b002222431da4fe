import { createHash } from 'node:crypto';
import { defined, objectOf, objectsOf, stringOf, type JsonObject } from '@libs/json';
import type {
  CanonicalRequest,
  ReasoningEffort,
  ReasoningRequest,
  ResponseFormat,
  Sampling,
  ToolChoice,
  ToolDefinition,
} from '../../model/canonical-request';
import { CheckedObject } from '../checked-object';
import { FREE_TEXT_PARAMETERS, readFreeText } from '../free-text-tools';
import { lostTool, noteIdleToolSettings, unknownMembers } from '../known-members';
import { KNOWN_MEMBERS } from './known-members';
import { readCacheMark } from './content-reader';
import { readMessages } from './conversation-reader';

const EFFORTS: readonly ReasoningEffort[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
const SUMMARIES = ['auto', 'concise', 'detailed'] as const;
const VERBOSITIES = ['low', 'medium', 'high', 'xhigh', 'max'] as const;
const MODALITIES = ['text', 'image', 'audio'] as const;

/**
 * Reads a chat request into the canonical model.
 * @throws AppError invalid_request with the path of the invalid field
 */
export function readRequest(members: JsonObject): CanonicalRequest {
  const body = new CheckedObject(members);
  const unread = unknownMembers(members, KNOWN_MEMBERS);
  const offered = readTools(body, unread);
  const allowed = readAllowedTools(body);
  const tools = allowed === null ? offered : offered.filter(({ name }) => allowed.names.has(name));
  const areParallelToolCallsAllowed = body.boolean('parallel_tool_calls');
  const counts = { offered: body.objects('tools').length, left: offered.length };
  const toolChoice = allowed?.mode ?? readToolChoice(body, unread);
  noteIdleToolSettings({ isParallelAllowed: areParallelToolCallsAllowed, toolChoice }, counts, unread);
  const user = body.string('safety_identifier') ?? body.string('user');
  return defined({
    messages: readMessages(body, unread),
    tools,
    toolChoice,
    areParallelToolCallsAllowed,
    responseFormat: readResponseFormat(body, unread),
    sampling: readSampling(body),
    maxOutputTokens: body.integer('max_completion_tokens') ?? body.integer('max_tokens'),
    stopSequences: readStop(body),
    choices: body.integer('n'),
    reasoning: readReasoningRequest(body, unread),
    topLogprobs: readTopLogprobs(body, unread),
    verbosity: body.knownWord('verbosity', VERBOSITIES, unread),
    outputModalities: readModalities(body),
    cache: readCacheMark(body),
    promptCacheKey: body.string('prompt_cache_key'),
    serviceTier: body.string('service_tier'),
    metadata: body.record('metadata', 'string'),
    endUser: user === undefined ? undefined : createHash('sha256').update(user).digest('hex'),
    unread: [...unread],
  });
}

function readTools(body: CheckedObject, unread: Set<string>): ToolDefinition[] {
  return body.objects('tools').flatMap((tool) => {
    const type = tool.requiredString('type');
    if (type === 'function') return [readTool(tool)];
    if (type === 'custom') return [readCustomTool(tool, unread)];
    unread.add(lostTool(type));
    return [];
  });
}

function readTool(tool: CheckedObject): ToolDefinition {
  const definition = tool.requiredObject('function');
  return defined({
    name: definition.requiredString('name'),
    description: definition.string('description'),
    parameters: definition.object('parameters')?.members ?? null,
    strict: definition.boolean('strict'),
    cache: readCacheMark(tool),
  });
}

function readCustomTool(tool: CheckedObject, unread: Set<string>): ToolDefinition {
  const definition = tool.requiredObject('custom');
  const format = definition.object('format')?.members ?? {};
  return defined({
    name: definition.requiredString('name'),
    description: definition.string('description'),
    parameters: FREE_TEXT_PARAMETERS,
    freeText: readFreeText({ ...format, ...objectOf(format['grammar']) }, 'tools.custom.format', unread),
    cache: readCacheMark(tool),
  });
}

/** Returns the tools to which `tool_choice` narrows the tools; null if it does not. */
function readAllowedTools(
  body: CheckedObject,
): { readonly names: ReadonlySet<string>; readonly mode: ToolChoice } | null {
  const choice = objectOf(body.value('tool_choice'));
  const { mode, tools } = objectOf(choice['allowed_tools']);
  if (choice['type'] !== 'allowed_tools' || (mode !== 'auto' && mode !== 'required')) return null;
  const names = objectsOf(tools).flatMap(
    (tool) => stringOf(objectOf(tool['function'] ?? tool['custom'])['name']) ?? [],
  );
  return { names: new Set(names), mode: { type: mode } };
}

function readToolChoice(body: CheckedObject, unread: Set<string>): ToolChoice | undefined {
  const value = body.value('tool_choice');
  if (value === undefined) return undefined;
  if (value === 'auto' || value === 'none' || value === 'required') return { type: value };
  if (typeof value === 'string') throw body.refuse('tool_choice', 'must be one of none, auto, required or an object');
  const choice = body.requiredObject('tool_choice');
  const type = choice.requiredString('type');
  if (type === 'function' || type === 'custom') {
    return { type: 'tool', name: choice.requiredObject(type).requiredString('name') };
  }
  unread.add('tool_choice');
  return undefined;
}

function readResponseFormat(body: CheckedObject, unread: Set<string>): ResponseFormat | undefined {
  const format = body.object('response_format');
  if (format === undefined) return undefined;
  const type = format.requiredString('type');
  if (type === 'text') return { type };
  if (type === 'json_object') return { type: 'json' };
  if (type === 'json_schema') return readJsonSchema(format.requiredObject('json_schema'));
  unread.add('response_format');
  return undefined;
}

function readJsonSchema(schema: CheckedObject): ResponseFormat {
  return defined({
    type: 'json-schema' as const,
    name: schema.requiredString('name'),
    schema: schema.object('schema')?.members ?? {},
    description: schema.string('description'),
    strict: schema.boolean('strict'),
  });
}

function readSampling(body: CheckedObject): Sampling {
  return defined({
    temperature: body.number('temperature'),
    topP: body.number('top_p'),
    topK: body.number('top_k'),
    minP: body.number('min_p'),
    topA: body.number('top_a'),
    frequencyPenalty: body.number('frequency_penalty'),
    presencePenalty: body.number('presence_penalty'),
    repetitionPenalty: body.number('repetition_penalty'),
    seed: body.integer('seed'),
    logitBias: body.record('logit_bias', 'number'),
  });
}

/** Alternatives are given only with log probabilities. */
function readTopLogprobs(body: CheckedObject, unread: Set<string>): number | undefined {
  const wanted = body.integer('top_logprobs');
  if (body.boolean('logprobs') === true) return wanted ?? 0;
  if (wanted !== undefined && wanted > 0) unread.add('top_logprobs');
  return undefined;
}

function readStop(body: CheckedObject): readonly string[] {
  return typeof body.value('stop') === 'string' ? [body.requiredString('stop')] : (body.strings('stop') ?? []);
}

function readModalities(body: CheckedObject): CanonicalRequest['outputModalities'] {
  return body.strings('modalities')?.map((wanted) => {
    const known = MODALITIES.find((modality) => modality === wanted);
    if (known === undefined) throw body.refuse('modalities', `may hold ${MODALITIES.join(', ')} only`);
    return known;
  });
}

/** Reads `reasoning`, and the two older fields that cover parts of it. */
export function readReasoningRequest(body: CheckedObject, unread: Set<string>): ReasoningRequest | undefined {
  const reasoning = body.object('reasoning') ?? new CheckedObject({});
  const request: ReasoningRequest = defined({
    isEnabled: reasoning.boolean('enabled'),
    effort: reasoning.knownWord('effort', EFFORTS, unread) ?? body.knownWord('reasoning_effort', EFFORTS, unread),
    maxTokens: reasoning.integer('max_tokens'),
    summary: reasoning.knownWord('summary', SUMMARIES, unread),
    isHidden: reasoning.boolean('exclude') ?? (body.boolean('include_reasoning') === false ? true : undefined),
  });
  return Object.keys(request).length === 0 ? undefined : request;
}

/** Returns whether the caller asked to hide the model's thoughts. `members` is a parsed request. */
export function hidesReasoning(members: JsonObject): boolean {
  return readReasoningRequest(new CheckedObject(members), new Set())?.isHidden === true;
}
