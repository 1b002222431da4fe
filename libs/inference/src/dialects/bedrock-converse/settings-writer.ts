import { defined, type JsonObject } from '@libs/json';
import type { CanonicalRequest, ReasoningEffort, ReasoningRequest } from '../../model/canonical-request';
import type { LossLog } from '../../model/loss-report';
import { effortOfBudget } from '../../model/reasoning-budget';
import type { Endpoint } from '../../catalogue/catalogue';
import { isAdaptive, isOff, writeReasoning } from '../anthropic-messages/reasoning-settings';
import { maxTokensOf, withoutReasoning } from '../anthropic-messages/request-writer';
import { writeModelSampling, writeSampling } from '../anthropic-messages/sampling';
import type { Conversation } from './conversation-writer';
import type { ModelFamily } from './traits';

/** The sampling and thinking settings of one request. */
export interface ModelSettings {
  /** `inferenceConfig`, whose fields every model accepts. */
  readonly inference: {
    readonly maxTokens?: number;
    readonly temperature?: number;
    readonly topP?: number;
  };
  /** `additionalModelRequestFields`: settings that only one model family has, under its own names. */
  readonly fields: JsonObject;
}

export function writeSettings(
  request: CanonicalRequest,
  conversation: Conversation,
  endpoint: Endpoint,
  family: ModelFamily,
  log: LossLog,
): ModelSettings {
  if (family.name === 'anthropic') return writeAnthropic(request, conversation, endpoint, log);
  if (request.verbosity !== undefined) log.drop('verbosity');
  const { temperature, top_p: topP, top_k: topK } = writeSampling(request.sampling, false, log);
  const inference = defined({ maxTokens: request.maxOutputTokens, temperature, topP });
  const reasoning = request.reasoning && writeEffort(request.reasoning, request, endpoint, family, log);
  if (topK !== undefined && !isNova(family)) log.drop('top_k');
  const fields = { ...reasoning, ...(topK !== undefined && isNova(family) && { inferenceConfig: { topK } }) };
  return isThinkingHard(fields) ? { inference: withoutInference(inference, log), fields } : { inference, fields };
}

function writeAnthropic(
  request: CanonicalRequest,
  conversation: Conversation,
  endpoint: Endpoint,
  log: LossLog,
): ModelSettings {
  const maxTokens = request.maxOutputTokens ?? maxTokensOf(endpoint);
  const thoughtful = mayThink(request, conversation, endpoint) ? request : withoutReasoning(request, log);
  const { thinking, effort, isThinking } = writeReasoning(thoughtful, endpoint, maxTokens, log);
  const { temperature, top_p: topP, top_k } = writeModelSampling(request.sampling, endpoint, isThinking, log);
  return {
    // A thinking budget must be smaller than the output cap.
    inference: defined({ maxTokens: isThinking ? maxTokens : request.maxOutputTokens, temperature, topP }),
    fields: defined({ thinking, output_config: effort && { effort }, top_k }),
  };
}

/**
 * As with Anthropic's API, thinking must be off while a tool is forced and after tool calls whose thoughts are missing.
 */
function mayThink({ toolChoice }: CanonicalRequest, { turns }: Conversation, endpoint: Endpoint): boolean {
  if (toolChoice?.type === 'required' || toolChoice?.type === 'tool') return false;
  if (isAdaptive(endpoint)) return true;
  const last = turns.findLast(({ role }) => role === 'assistant');
  const isCalling = last?.content.some(({ kind }) => kind === 'toolUse') ?? false;
  return !isCalling || last!.content[0]!.kind === 'reasoningContent';
}

function isNova({ name }: ModelFamily): boolean {
  return name === 'nova' || name === 'nova-2';
}

/** Each family's word for an effort; null if it has none. */
const EFFORTS: Readonly<Record<string, Readonly<Record<ReasoningEffort, string | null>>>> = {
  'nova-2': {
    none: null,
    minimal: 'low',
    low: 'low',
    medium: 'medium',
    high: 'high',
    xhigh: 'high',
    max: 'high',
  },
  gpt: { none: 'none', minimal: 'low', low: 'low', medium: 'medium', high: 'high', xhigh: 'xhigh', max: 'max' },
  'gpt-oss': {
    none: null,
    minimal: 'low',
    low: 'low',
    medium: 'medium',
    high: 'high',
    xhigh: 'high',
    max: 'high',
  },
};

function writeEffort(
  reasoning: ReasoningRequest,
  request: CanonicalRequest,
  endpoint: Endpoint,
  { name }: ModelFamily,
  log: LossLog,
): JsonObject {
  const efforts = EFFORTS[name];
  const asked = isOff(reasoning) ? 'none' : effortAsked(reasoning, request, endpoint, log);
  if (reasoning.summary !== undefined) log.drop('reasoning.summary');
  if (asked === null) return {};
  if (name === 'nova-2' && asked === 'none') return { reasoningConfig: { type: 'disabled' } };
  const effort = efforts?.[asked] ?? null;
  if (effort === null) {
    log.drop('reasoning');
    return {};
  }
  if (effort !== asked) log.approximate('reasoning.effort');
  return fieldsOf(name, effort);
}

function fieldsOf(name: ModelFamily['name'], effort: string): JsonObject {
  if (name === 'nova-2') return { reasoningConfig: { type: 'enabled', maxReasoningEffort: effort } };
  return name === 'gpt-oss' ? { reasoning_effort: effort } : { reasoning: { effort } };
}

/** Returns the effort that the request asks for; null if it does not say. */
function effortAsked(
  { isEnabled, effort, maxTokens }: ReasoningRequest,
  { maxOutputTokens }: CanonicalRequest,
  endpoint: Endpoint,
  log: LossLog,
): ReasoningEffort | null {
  if (effort !== undefined) return effort;
  if (maxTokens !== undefined) {
    log.approximate('reasoning.max_tokens');
    return effortOfBudget(maxTokens, maxOutputTokens ?? maxTokensOf(endpoint));
  }
  if (isEnabled !== true) return null;
  log.approximate('reasoning.enabled');
  return 'medium';
}

/** Returns true at Nova's highest effort, at which it takes no `maxTokens`, `temperature` or `topP`. */
function isThinkingHard({ reasoningConfig }: JsonObject): boolean {
  return (reasoningConfig as { maxReasoningEffort?: string } | undefined)?.maxReasoningEffort === 'high';
}

function withoutInference(inference: ModelSettings['inference'], log: LossLog): ModelSettings['inference'] {
  if (inference.maxTokens !== undefined) log.drop('max_tokens');
  if (inference.temperature !== undefined) log.drop('temperature');
  if (inference.topP !== undefined) log.drop('top_p');
  return {};
}
