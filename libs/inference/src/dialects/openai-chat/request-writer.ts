import { defined } from '@libs/json';
import type {
  CanonicalRequest,
  ReasoningEffort,
  ReasoningRequest,
  ResponseFormat,
  Sampling,
  ToolChoice,
  ToolDefinition,
} from '../../model/canonical-request';
import type { LossLog } from '../../model/loss-report';
import { effortOfBudget } from '../../model/reasoning-budget';
import type { Endpoint } from '../../catalogue/catalogue';
import { takes, type ChatExtension } from './traits';
import { MessageWriter } from './conversation-writer';

const MOST_STOPS = 4;

type Members = Record<string, unknown>;

/** Returns the body for a chat upstream. Settings that the API has no field for are logged. */
export function writeRequest(request: CanonicalRequest, endpoint: Endpoint, isStream: boolean, log: LossLog): Members {
  const { maxOutputTokens, topLogprobs } = request;
  return defined({
    model: endpoint.upstreamModel,
    ...(isStream ? { stream: true, stream_options: { include_usage: true } } : {}),
    messages: new MessageWriter(endpoint, log).write(request.messages),
    ...writeTools(request, endpoint, log),
    response_format: request.responseFormat && writeResponseFormat(request.responseFormat),
    ...writeSampling(request.sampling, endpoint, log),
    [takes(endpoint, 'max_tokens') ? 'max_tokens' : 'max_completion_tokens']: maxOutputTokens,
    stop: writeStop(request.stopSequences, log),
    n: request.choices,
    ...(request.reasoning && writeReasoning(request.reasoning, request, endpoint, log)),
    logprobs: topLogprobs === undefined ? undefined : true,
    top_logprobs: topLogprobs === 0 ? undefined : topLogprobs,
    verbosity: writeVerbosity(request.verbosity, log),
    modalities: request.outputModalities,
    prompt_cache_key: request.promptCacheKey,
    store: request.refusesStoring === true ? false : undefined,
    service_tier: request.serviceTier,
    user: request.endUser,
    ...writeExtensions(request, endpoint, log),
  });
}

function writeTools(
  { tools, toolChoice, areParallelToolCallsAllowed }: CanonicalRequest,
  endpoint: Endpoint,
  log: LossLog,
): Members {
  // Upstreams refuse both settings in a request without tools.
  if (tools.length === 0) {
    if (toolChoice?.type === 'required' || toolChoice?.type === 'tool') log.drop('tool_choice');
    return {};
  }
  return {
    tools: tools.map((tool) => writeTool(tool, endpoint, log)),
    tool_choice: toolChoice && writeToolChoice(toolChoice),
    parallel_tool_calls: areParallelToolCallsAllowed,
  };
}

function writeTool({ cache, ...tool }: ToolDefinition, endpoint: Endpoint, log: LossLog): object {
  const { name, description, parameters, strict } = tool;
  const definition = defined({ name, description, parameters: parameters ?? undefined, strict });
  const mark = cache && extension('cache_control', { type: 'ephemeral', ...cache }, endpoint, log);
  return { type: 'function', function: definition, ...mark };
}

function writeToolChoice(choice: ToolChoice): unknown {
  return choice.type === 'tool' ? { type: 'function', function: { name: choice.name } } : choice.type;
}

function writeResponseFormat(format: ResponseFormat): object {
  if (format.type === 'text') return { type: 'text' };
  if (format.type === 'json') return { type: 'json_object' };
  const { name, schema, description, strict } = format;
  return { type: 'json_schema', json_schema: defined({ name, description, schema, strict }) };
}

function writeSampling(sampling: Sampling, endpoint: Endpoint, log: LossLog): Members {
  return {
    temperature: sampling.temperature,
    top_p: sampling.topP,
    frequency_penalty: sampling.frequencyPenalty,
    presence_penalty: sampling.presencePenalty,
    seed: sampling.seed,
    logit_bias: sampling.logitBias,
    ...extension('top_k', sampling.topK, endpoint, log),
    ...extension('min_p', sampling.minP, endpoint, log),
    ...extension('top_a', sampling.topA, endpoint, log),
    ...extension('repetition_penalty', sampling.repetitionPenalty, endpoint, log),
  };
}

function writeExtensions(request: CanonicalRequest, endpoint: Endpoint, log: LossLog): Members {
  const { metadata, cache, refusesStoring } = request;
  if (refusesStoring === true && metadata !== undefined) log.drop('metadata');
  return {
    ...extension('metadata', refusesStoring === true ? undefined : metadata, endpoint, log),
    ...extension('cache_control', cache && { type: 'ephemeral', ...cache }, endpoint, log),
  };
}

/** A member that only some upstreams take. */
function extension(name: ChatExtension, value: unknown, endpoint: Endpoint, log: LossLog): Members {
  if (value === undefined) return {};
  if (takes(endpoint, name)) return { [name]: value };
  log.drop(name);
  return {};
}

function writeStop(stops: readonly string[], log: LossLog): readonly string[] | undefined {
  if (stops.length > MOST_STOPS) log.approximate('stop');
  return stops.length === 0 ? undefined : stops.slice(0, MOST_STOPS);
}

function writeVerbosity(verbosity: CanonicalRequest['verbosity'], log: LossLog): string | undefined {
  if (verbosity !== 'xhigh' && verbosity !== 'max') return verbosity;
  log.approximate('verbosity');
  return 'high';
}

function writeReasoning(
  reasoning: ReasoningRequest,
  request: CanonicalRequest,
  endpoint: Endpoint,
  log: LossLog,
): Members {
  const { isEnabled, effort, maxTokens, summary, isHidden } = reasoning;
  if (takes(endpoint, 'reasoning')) {
    const object = { enabled: isEnabled, effort, max_tokens: maxTokens, summary, exclude: isHidden };
    return { reasoning: defined(object) };
  }
  if (summary !== undefined) log.drop('reasoning.summary');
  return { reasoning_effort: writeEffort(reasoning, request.maxOutputTokens, endpoint, log) };
}

/** Returns the effort nearest to the requested one. Thoughts are hidden later, when the answer is written. */
export function writeEffort(
  { isEnabled, effort, maxTokens }: ReasoningRequest,
  maxOutputTokens: number | undefined,
  { maxCompletionTokens }: Endpoint,
  log: LossLog,
): ReasoningEffort | undefined {
  if (isEnabled === false) {
    log.approximate('reasoning.enabled');
    return 'none';
  }
  if (maxTokens !== undefined) log.approximate('reasoning.max_tokens');
  if (effort === 'max') log.approximate('reasoning.effort');
  if (effort !== undefined) return effort === 'max' ? 'xhigh' : effort;
  if (maxTokens !== undefined) {
    const allowed = maxOutputTokens ?? maxCompletionTokens;
    return allowed === null ? 'medium' : effortOfBudget(maxTokens, allowed);
  }
  if (isEnabled === undefined) return undefined;
  log.approximate('reasoning.enabled');
  return 'medium';
}
