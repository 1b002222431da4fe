import { defined } from '@libs/json';
import type { CanonicalRequest, ResponseFormat, ToolChoice, ToolDefinition } from '../../model/canonical-request';
import type { LossLog } from '../../model/loss-report';
import type { Endpoint } from '../../catalogue/catalogue';
import { ConversationWriter } from './conversation-writer';
import { writeSampling } from './sampling';
import { writeThinking } from './reasoning-settings';
import { traitsOf } from './traits';

const MOST_STOPS = 5;

type Members = Readonly<Record<string, unknown>>;

/** Returns the body for `POST /v2/chat`. Settings that the API has no field for are logged. */
export function writeRequest(request: CanonicalRequest, endpoint: Endpoint, isStream: boolean, log: LossLog): Members {
  for (const [name, isAsked] of FOREIGN) if (isAsked(request)) log.drop(name);
  const { canThink, safetyMode, canBeMadeToCall } = traitsOf(endpoint);
  const { messages, documents } = new ConversationWriter(canThink, log).write(request.messages);
  // True if the request has neither tools nor documents: with them, the provider refuses `safety_mode`.
  const isPlain = request.tools.length === 0 && documents.length === 0;
  return defined({
    model: endpoint.upstreamModel,
    stream: isStream,
    messages,
    documents: documents.length === 0 ? undefined : documents,
    ...writeTools(request, canBeMadeToCall, log),
    response_format: request.responseFormat && writeResponseFormat(request.responseFormat, log),
    safety_mode: isPlain ? safetyMode : undefined,
    max_tokens: request.maxOutputTokens,
    stop_sequences: writeStops(request.stopSequences, log),
    ...writeSampling(request.sampling, log),
    logprobs: writeLogprobs(request.topLogprobs, log),
    thinking: writeThinking(request, endpoint, log),
  });
}

/** Fields that this API does not have, and whether a request sets them. */
const FOREIGN: readonly (readonly [name: string, isAsked: (request: CanonicalRequest) => boolean])[] = [
  ['n', ({ choices = 1 }) => choices > 1],
  ['modalities', ({ outputModalities = [] }) => outputModalities.some((modality) => modality !== 'text')],
  ['verbosity', ({ verbosity }) => verbosity !== undefined],
  ['prompt_cache_key', ({ promptCacheKey }) => promptCacheKey !== undefined],
  ['cache_control', ({ cache }) => cache !== undefined],
  ['user', ({ endUser }) => endUser !== undefined],
  ['metadata', ({ metadata = {} }) => Object.keys(metadata).length > 0],
  ['service_tier', ({ serviceTier = 'auto' }) => serviceTier !== 'auto' && serviceTier !== 'default'],
];

function writeTools(request: CanonicalRequest, canBeMadeToCall: boolean, log: LossLog): Members {
  const { tools, toolChoice, areParallelToolCallsAllowed } = request;
  if (areParallelToolCallsAllowed === false && tools.length > 0) log.drop('parallel_tool_calls');
  if (tools.length === 0) {
    if (toolChoice !== undefined && toolChoice.type !== 'none' && toolChoice.type !== 'auto') log.drop('tool_choice');
    return {};
  }
  if (tools.some(({ cache }) => cache)) log.drop('cache_control');
  return {
    ...chosenTools(tools, canBeMadeToCall ? toolChoice : unmade(toolChoice, log), log),
    ...writeStrictness(tools, log),
  };
}

function unmade(choice: ToolChoice | undefined, log: LossLog): undefined {
  if (choice !== undefined && choice.type !== 'auto') log.drop('tool_choice');
}

/** Sends only the forced tool: the API cannot force one tool among several. */
function chosenTools(tools: readonly ToolDefinition[], toolChoice: ToolChoice | undefined, log: LossLog): Members {
  if (toolChoice?.type !== 'tool') {
    const isFree = toolChoice === undefined || toolChoice.type === 'auto';
    return { tools: tools.map(writeTool), ...(!isFree && { tool_choice: toolChoice.type.toUpperCase() }) };
  }
  log.approximate('tool_choice');
  const forced = tools.filter(({ name }) => name === toolChoice.name);
  return { tools: (forced.length === 0 ? tools : forced).map(writeTool), tool_choice: 'REQUIRED' };
}

function writeTool({ name, description, parameters }: ToolDefinition): Members {
  const schema = parameters ?? { type: 'object', properties: {} };
  return { type: 'function', function: defined({ name, description, parameters: schema }) };
}

/** Makes all tools strict or none, because the API has one setting for all of them. */
function writeStrictness(tools: readonly ToolDefinition[], log: LossLog): Members {
  if (!tools.some(({ strict }) => strict)) return {};
  if (!tools.every(({ strict }) => strict)) log.approximate('strict');
  return { strict_tools: true };
}

function writeResponseFormat(format: ResponseFormat, log: LossLog): Members {
  if (format.type === 'text') return { type: 'text' };
  if (format.type === 'json') return { type: 'json_object' };
  if (format.description !== undefined) log.drop('response_format.description');
  return { type: 'json_object', json_schema: format.schema };
}

function writeStops(stops: readonly string[], log: LossLog): readonly string[] | undefined {
  if (stops.length > MOST_STOPS) log.approximate('stop');
  return stops.length === 0 ? undefined : stops.slice(0, MOST_STOPS);
}

/** Requests log probabilities of the answer's tokens; the API has none of the alternatives. */
function writeLogprobs(alternatives: number | undefined, log: LossLog): true | undefined {
  if (alternatives === undefined) return undefined;
  if (alternatives > 0) log.drop('top_logprobs');
  return true;
}
