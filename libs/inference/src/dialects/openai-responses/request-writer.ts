import { defined } from '@libs/json';
import type {
  CanonicalRequest,
  ReasoningEffort,
  ReasoningRequest,
  ResponseFormat,
  Sampling,
  ToolChoice,
} from '../../model/canonical-request';
import type { LossLog } from '../../model/loss-report';
import { effortOfBudget } from '../../model/reasoning-budget';
import type { Endpoint } from '../../catalogue/catalogue';
import { freeTextNames } from '../free-text-tools';
import { isOpenAis, isTaken } from '../own-members';
import { isKnownToThink, thinks } from '../untaken-parameters';
import { reasoningFormatOf } from './reasoning';
import { writeInput } from './conversation-writer';

/** Output tokens from which a thinking budget is derived if neither the request nor the catalogue has a cap. */
const DEFAULT_OUTPUT_TOKENS = 32_000;

/** Settings that this API has no field for, by the names that callers use. */
const UNWRITTEN_SAMPLING: Readonly<Partial<Record<keyof Sampling, string>>> = {
  topK: 'top_k',
  minP: 'min_p',
  topA: 'top_a',
  repetitionPenalty: 'repetition_penalty',
  seed: 'seed',
  logitBias: 'logit_bias',
};

/** Returns the body of `POST /responses` for a canonical request. It asks the upstream to store nothing. */
export function writeRequest(request: CanonicalRequest, endpoint: Endpoint, isStream: boolean, log: LossLog): object {
  dropUnwritten(request, log);
  const { sampling, serviceTier, topLogprobs } = request;
  const freeTexts = freeTextNames(request.tools);
  return defined({
    model: endpoint.upstreamModel,
    ...writeInput(request.messages, { format: reasoningFormatOf(endpoint), freeTexts }, log),
    ...writeTools(request, freeTexts, log),
    parallel_tool_calls: request.areParallelToolCallsAllowed,
    text: writeText(request),
    reasoning: writeReasoning(request, endpoint, log),
    temperature: sampling.temperature,
    top_p: sampling.topP,
    frequency_penalty: sampling.frequencyPenalty,
    presence_penalty: sampling.presencePenalty,
    max_output_tokens: request.maxOutputTokens,
    top_logprobs: topLogprobs,
    include: writeInclude(request, endpoint),
    metadata: request.metadata,
    prompt_cache_key: request.promptCacheKey,
    service_tier: serviceTier,
    user: request.endUser,
    store: false,
    stream: isStream,
  });
}

function dropUnwritten(request: CanonicalRequest, log: LossLog): void {
  for (const [setting, name] of Object.entries(UNWRITTEN_SAMPLING)) {
    if (request.sampling[setting as keyof Sampling] !== undefined) log.drop(name);
  }
  if (request.stopSequences.length > 0) log.drop('stop');
  if ((request.choices ?? 1) > 1) log.drop('n');
  if (request.cache !== undefined) log.drop('cache_control');
  if (request.outputModalities?.some((modality) => modality !== 'text')) log.drop('modalities');
}

/** Returns whether the upstream has OpenAI's custom tools. Of other providers of this API few take them. */
export function takesFreeText(endpoint: Endpoint): boolean {
  return isTaken(endpoint, 'responses', 'custom_tools') ?? isOpenAis(endpoint);
}

/** The API refuses a choice in a request without tools. */
function writeTools({ tools, toolChoice }: CanonicalRequest, freeTexts: ReadonlySet<string>, log: LossLog): object {
  if (tools.length > 0) {
    return { tools: tools.map((tool) => writeTool(tool, log)), tool_choice: writeToolChoice(toolChoice, freeTexts) };
  }
  if (toolChoice?.type === 'required' || toolChoice?.type === 'tool') log.drop('tool_choice');
  return {};
}

function writeTool(
  { name, description, parameters, strict, freeText, cache }: CanonicalRequest['tools'][number],
  log: LossLog,
): object {
  if (cache) log.drop('cache_control');
  if (freeText !== undefined) {
    const format = freeText.grammar && { type: 'grammar', ...freeText.grammar };
    return defined({ type: 'custom', name, description, format });
  }
  // An absent `strict` means true in this API, and false in all others.
  return defined({ type: 'function', name, description, parameters, strict: strict ?? false });
}

function writeToolChoice(choice: ToolChoice | undefined, freeTexts: ReadonlySet<string>): unknown {
  if (choice?.type !== 'tool') return choice?.type;
  return { type: freeTexts.has(choice.name) ? 'custom' : 'function', name: choice.name };
}

function writeText({ responseFormat, verbosity }: CanonicalRequest): object | undefined {
  if (responseFormat === undefined && verbosity === undefined) return undefined;
  return defined({ format: responseFormat && writeFormat(responseFormat), verbosity });
}

function writeFormat(format: ResponseFormat): object {
  if (format.type === 'text') return { type: 'text' };
  if (format.type === 'json') return { type: 'json_object' };
  const { name, schema, description, strict } = format;
  return defined({ type: 'json_schema', name, schema, description, strict });
}

function writeReasoning(request: CanonicalRequest, endpoint: Endpoint, log: LossLog): object | undefined {
  const { reasoning, maxOutputTokens } = request;
  if (reasoning === undefined) return undefined;
  const effort = effortOf(reasoning, outputTokensOf(maxOutputTokens, endpoint), log);
  const written = defined({ effort, summary: summaryOf(reasoning) });
  return Object.keys(written).length > 0 ? written : undefined;
}

/** Returns the output tokens from which a thinking budget is derived. */
export function outputTokensOf(asked: number | undefined, { maxCompletionTokens }: Endpoint): number {
  return asked ?? maxCompletionTokens ?? DEFAULT_OUTPUT_TOKENS;
}

/** Returns the requested effort or the nearest supported one; undefined if the request does not set one. */
export function effortOf(
  { isEnabled, effort, maxTokens, summary }: ReasoningRequest,
  outputTokens: number,
  log: LossLog,
): ReasoningEffort | undefined {
  if (isEnabled === false) return 'none';
  if (maxTokens === undefined) {
    if (isEnabled === true && effort === undefined && summary === undefined) log.approximate('reasoning.enabled');
    return effort;
  }
  log.approximate('reasoning.max_tokens');
  return effort ?? effortOfBudget(maxTokens, outputTokens);
}

function summaryOf({ summary, isHidden }: ReasoningRequest): unknown {
  return isHidden === true ? undefined : summary;
}

function writeInclude(request: CanonicalRequest, endpoint: Endpoint): readonly string[] | undefined {
  const include = [
    ...(needsSeals(request, endpoint) ? ['reasoning.encrypted_content'] : []),
    ...(request.topLogprobs === undefined ? [] : ['message.output_text.logprobs']),
  ];
  return include.length > 0 ? include : undefined;
}

/** Returns whether to ask for encrypted thoughts. The upstream stores nothing, so only these can be sent back later. */
function needsSeals({ reasoning, wantsSealedThoughts, isContinued }: CanonicalRequest, endpoint: Endpoint): boolean {
  if (wantsSealedThoughts === true && thinks(endpoint)) return true;
  if (reasoning === undefined) return isContinued === true && isKnownToThink(endpoint);
  return reasoning.isEnabled !== false && reasoning.effort !== 'none';
}
