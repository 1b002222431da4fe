import { defined, objectOf } from '@libs/json';
import type { CanonicalRequest, ReasoningEffort, ReasoningRequest } from '../../model/canonical-request';
import type { LossLog } from '../../model/loss-report';
import { budgetOfEffort, effortOfBudget } from '../../model/reasoning-budget';
import type { Endpoint } from '../../catalogue/catalogue';
import type { CheckedObject } from '../checked-object';

/** The least that the upstream lets a model think, in tokens. */
export const LEAST_BUDGET = 1_024;

const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max'] as const;
type OutputEffort = (typeof EFFORTS)[number];

/** The settings of a request that decide how a model thinks. */
export interface ThinkingSettings {
  readonly thinking?: object;
  /** `output_config.effort`. */
  readonly effort?: OutputEffort;
  readonly isThinking: boolean;
}

/** Reads `thinking` and `output_config.effort`. With a budget, the effort is the verbosity, not the thinking. */
export function readReasoning(
  body: CheckedObject,
  unread: Set<string>,
): Pick<CanonicalRequest, 'reasoning' | 'verbosity'> {
  const effort = body.object('output_config')?.knownWord('effort', EFFORTS, unread);
  const thinking = body.object('thinking');
  if (thinking === undefined) return { verbosity: effort };
  const type = thinking.oneOf('type', ['enabled', 'disabled', 'adaptive']);
  if (type === 'disabled') return { reasoning: { isEnabled: false }, verbosity: effort };
  const display = readDisplay(thinking.knownWord('display', DISPLAYS, unread));
  if (type === 'adaptive') return { reasoning: defined({ isEnabled: true, effort, ...display }) };
  const maxTokens = thinking.integer('budget_tokens');
  return { reasoning: defined({ isEnabled: true, maxTokens, ...display }), verbosity: effort };
}

const DISPLAYS = ['omitted', 'summarized'] as const;

function readDisplay(display: (typeof DISPLAYS)[number] | undefined): Pick<ReasoningRequest, 'isHidden' | 'summary'> {
  if (display === 'omitted') return { isHidden: true };
  return display === 'summarized' ? { summary: 'auto' } : {};
}

/**
 * Returns the settings for thinking. Models with the capability `messages.thinking: adaptive` get an effort, all
 * others a budget of tokens. Those with `messages.thinking: always` are adaptive too, and refuse a request that turns
 * thinking off.
 */
export function writeReasoning(
  { reasoning = {}, verbosity: effort }: CanonicalRequest,
  endpoint: Endpoint,
  maxTokens: number,
  log: LossLog,
): ThinkingSettings {
  const plain = defined({ effort, isThinking: false });
  if (isOff(reasoning)) {
    return alwaysThinks(endpoint) ? leastThinking(effort, log) : { ...plain, thinking: { type: 'disabled' } };
  }
  if (!isAsked(reasoning)) {
    if (reasoning.summary !== undefined) log.drop('reasoning.summary');
    return plain;
  }
  const display = writeDisplay(reasoning, isAdaptive(endpoint), log);
  if (isAdaptive(endpoint)) {
    const depth = adaptiveEffort(reasoning, endpoint, maxTokens, log) ?? effort;
    return defined({ thinking: { type: 'adaptive', ...display }, effort: depth, isThinking: true });
  }
  const budget = budgetOf(reasoning, maxTokens, log);
  if (budget !== null) {
    return { ...plain, thinking: { type: 'enabled', budget_tokens: budget, ...display }, isThinking: true };
  }
  log.drop('reasoning');
  return plain;
}

export function isOff({ isEnabled, effort }: ReasoningRequest): boolean {
  return isEnabled === false || effort === 'none';
}

function isAsked({ isEnabled, effort, maxTokens }: ReasoningRequest): boolean {
  return isEnabled !== undefined || effort !== undefined || maxTokens !== undefined;
}

/** True if the model itself decides how long it thinks. */
export function isAdaptive(endpoint: Endpoint): boolean {
  return alwaysThinks(endpoint) || objectOf(endpoint.capabilities['messages'])['thinking'] === 'adaptive';
}

/** Returns whether the model of an endpoint always thinks, whatever the request says. */
export function alwaysThinks({ capabilities }: Endpoint): boolean {
  return objectOf(capabilities['messages'])['thinking'] === 'always';
}

/** Returns the settings for a model that cannot stop thinking: the lowest effort, unless one is set. */
function leastThinking(effort: OutputEffort | undefined, log: LossLog): ThinkingSettings {
  log.approximate('reasoning.effort');
  return { effort: effort ?? 'low', isThinking: true };
}

/** Returns the request without a forced tool if the model takes none (`messages.tool_choice: false`). */
export function withFreeChoice(request: CanonicalRequest, { capabilities }: Endpoint, log: LossLog): CanonicalRequest {
  const { toolChoice } = request;
  const isForced = toolChoice?.type === 'required' || toolChoice?.type === 'tool';
  if (!isForced || objectOf(capabilities['messages'])['tool_choice'] !== false) return request;
  log.drop('tool_choice');
  return { ...request, toolChoice: { type: 'auto' } };
}

/** Returns how thoughts are shown. `isSilent`: the model shows none unless asked for summaries. */
function writeDisplay(
  { isHidden, summary }: ReasoningRequest,
  isSilent: boolean,
  log: LossLog,
): { readonly display?: string } {
  if (isHidden) return { display: 'omitted' };
  if (summary === undefined) return isSilent ? { display: 'summarized' } : {};
  if (summary !== 'auto') log.approximate('reasoning.summary');
  return { display: 'summarized' };
}

/** Returns the effort for a model that takes no budget: the one asked for, or the one nearest to the budget. */
function adaptiveEffort(
  { effort, maxTokens }: ReasoningRequest,
  endpoint: Endpoint,
  whole: number,
  log: LossLog,
): OutputEffort | undefined {
  const asked = effort ?? (maxTokens === undefined ? undefined : effortOfBudget(maxTokens, whole));
  if (asked === undefined) return undefined;
  const taken = takenEffort(asked, endpoint);
  if (effort === undefined) log.approximate('reasoning.max_tokens');
  else if (taken !== asked) log.approximate('reasoning.effort');
  return taken;
}

/** Returns the highest effort the model takes (`messages.efforts`, else all) up to the one asked for, or its lowest. */
function takenEffort(asked: ReasoningEffort, { capabilities }: Endpoint): OutputEffort {
  const listed = objectOf(capabilities['messages'])['efforts'];
  const efforts = Array.isArray(listed) ? EFFORTS.filter((effort) => listed.includes(effort)) : EFFORTS;
  const most = EFFORTS.findIndex((effort) => effort === asked);
  return efforts.findLast((effort) => EFFORTS.indexOf(effort) <= most) ?? efforts[0] ?? 'low';
}

/** Returns the thinking budget: at least the upstream's minimum, below the output cap; null if none fits. */
function budgetOf(reasoning: ReasoningRequest, whole: number, log: LossLog): number | null {
  const { effort = 'medium', maxTokens } = reasoning;
  const isEffortSet = reasoning.effort !== undefined;
  if (whole <= LEAST_BUDGET) return null;
  const asked = maxTokens ?? budgetOfEffort(effort, whole);
  const budget = Math.min(Math.max(asked, LEAST_BUDGET), whole - 1);
  if (maxTokens === undefined || isEffortSet) log.approximate('reasoning.effort');
  if (maxTokens !== undefined && budget !== maxTokens) log.approximate('reasoning.max_tokens');
  return budget;
}
