import { defined } from '@libs/json';
import type { CanonicalRequest, ResponseFormat, ToolChoice, ToolDefinition } from '../../model/canonical-request';
import type { LossLog } from '../../model/loss-report';
import type { Endpoint } from '../../catalogue/catalogue';
import { writeCache, type Block } from './content-writer';
import { writeConversation, type Conversation } from './conversation-writer';
import { inputSchema, outputSchema } from '../closed-schema';
import { isAdaptive, isOff, withFreeChoice, writeReasoning, type ThinkingSettings } from './reasoning-settings';
import { writeModelSampling } from './sampling';

/** Returns the body for an upstream that speaks this API. Settings that the API has no field for are logged. */
export function writeRequest(asked: CanonicalRequest, endpoint: Endpoint, isStream: boolean, log: LossLog): object {
  const request = withFreeChoice(asked, endpoint, log);
  logForeign(request, log);
  const conversation = writeConversation(request.messages, log);
  const maxTokens = request.maxOutputTokens ?? maxTokensOf(endpoint);
  const isPossible = mayThink(request, conversation, endpoint);
  const settings = writeReasoning(isPossible ? request : withoutReasoning(request, log), endpoint, maxTokens, log);
  return defined({
    model: endpoint.upstreamModel,
    max_tokens: maxTokens,
    system: writeSystem(conversation.system),
    messages: conversation.messages,
    tools: request.tools.length === 0 ? undefined : request.tools.map((tool) => writeTool(tool, log)),
    tool_choice: writeToolChoice(request, log),
    thinking: settings.thinking,
    output_config: writeOutputConfig(request.responseFormat, settings, log),
    ...writeModelSampling(request.sampling, endpoint, settings.isThinking, log),
    stop_sequences: writeStopSequences(request.stopSequences, log),
    metadata: request.endUser === undefined ? undefined : { user_id: request.endUser },
    service_tier: writeServiceTier(request.serviceTier, log),
    stream: isStream ? true : undefined,
    ...writeCache(request),
  });
}

/** Logs fields that this API does not have. */
function logForeign(request: CanonicalRequest, log: LossLog): void {
  const { outputModalities, metadata, choices } = request;
  if (choices !== undefined && choices > 1) log.drop('n');
  if (request.topLogprobs !== undefined) log.drop('logprobs');
  if (outputModalities?.some((modality) => modality !== 'text')) log.drop('modalities');
  if (request.promptCacheKey !== undefined) log.drop('prompt_cache_key');
  if (metadata !== undefined && Object.keys(metadata).length > 0) log.drop('metadata');
}

/**
 * Returns whether thinking may be on: not while a tool is forced, and not after tool calls whose thoughts are
 * missing, except for a model that decides itself when to think.
 */
function mayThink({ toolChoice }: CanonicalRequest, { messages }: Conversation, endpoint: Endpoint): boolean {
  if (toolChoice?.type === 'required' || toolChoice?.type === 'tool') return false;
  if (isAdaptive(endpoint)) return true;
  const last = messages.findLast(({ role }) => role === 'assistant');
  const isCalling = last?.content.some(({ type }) => type === 'tool_use') ?? false;
  return !isCalling || last!.content[0]!.type.endsWith('thinking');
}

export function withoutReasoning(request: CanonicalRequest, log: LossLog): CanonicalRequest {
  const { reasoning, ...rest } = request;
  if (reasoning === undefined || isOff(reasoning)) return request;
  log.drop('reasoning');
  return rest;
}

function writeSystem(system: readonly Block[]): string | readonly Block[] | undefined {
  const [first] = system;
  if (first === undefined) return undefined;
  return system.length === 1 && first['cache_control'] === undefined ? String(first['text']) : system;
}

function writeTool(tool: ToolDefinition, log: LossLog): object {
  return {
    name: tool.name,
    ...defined({ description: tool.description }),
    input_schema: inputSchema(tool, tool.strict === true, log),
    ...defined({ strict: tool.strict }),
    ...writeCache(tool),
  };
}

function writeToolChoice(request: CanonicalRequest, log: LossLog): object | undefined {
  const { tools, toolChoice, areParallelToolCallsAllowed: isParallel } = request;
  if (tools.length === 0) {
    if (toolChoice !== undefined && toolChoice.type !== 'none') log.drop('tool_choice');
    return undefined;
  }
  if (toolChoice === undefined && isParallel === undefined) return undefined;
  const choice = choiceOf(toolChoice);
  if (choice.type === 'none' || isParallel === undefined) return choice;
  return { ...choice, disable_parallel_tool_use: !isParallel };
}

function choiceOf(choice: ToolChoice | undefined): { readonly type: string; readonly name?: string } {
  if (choice?.type === 'tool') return { type: 'tool', name: choice.name };
  if (choice?.type === 'required') return { type: 'any' };
  return { type: choice?.type ?? 'auto' };
}

function writeOutputConfig(
  format: ResponseFormat | undefined,
  { effort }: ThinkingSettings,
  log: LossLog,
): object | undefined {
  if (format?.type === 'json') log.drop('response_format');
  if (format?.type === 'json-schema' && format.description !== undefined) log.drop('response_format.description');
  const schema =
    format?.type === 'json-schema' ? { type: 'json_schema', schema: outputSchema(format.schema, log) } : undefined;
  const config = defined({ effort, format: schema });
  return Object.keys(config).length === 0 ? undefined : config;
}

/** Leaves out sequences of only white space, which the upstream refuses. */
function writeStopSequences(sequences: readonly string[], log: LossLog): readonly string[] | undefined {
  const kept = sequences.filter((sequence) => sequence.trim() !== '');
  if (kept.length < sequences.length) log.drop('stop');
  return kept.length === 0 ? undefined : kept;
}

function writeServiceTier(tier: string | undefined, log: LossLog): string | undefined {
  if (tier === undefined) return undefined;
  if (tier === 'default') return 'standard_only';
  if (tier !== 'auto' && tier !== 'priority') log.drop('service_tier');
  return 'auto';
}

const DEFAULT_MAX_TOKENS = 4_096;

/** Returns the output cap for a request without one: the upstream requires it. */
export function maxTokensOf({ maxCompletionTokens }: Endpoint): number {
  return maxCompletionTokens ?? DEFAULT_MAX_TOKENS;
}
