import type { CanonicalRequest, ReasoningEffort, ReasoningRequest } from '../../model/canonical-request';
import type { LossLog } from '../../model/loss-report';
import { budgetOfEffort, effortOfBudget } from '../../model/reasoning-budget';
import type { Endpoint } from '../../catalogue/catalogue';
import { generationOf, THINKING_GENERATION, THIRD_GENERATION } from './traits';

type Level = 'MINIMAL' | 'LOW' | 'MEDIUM' | 'HIGH';

const LEVELS: Readonly<Record<Exclude<ReasoningEffort, 'none'>, Level>> = {
  minimal: 'MINIMAL',
  low: 'LOW',
  medium: 'MEDIUM',
  high: 'HIGH',
  xhigh: 'HIGH',
  max: 'HIGH',
};

/** From this generation on, the lowest thinking level of Flash models is LOW. */
const LOW_FLASH_GENERATION = 3.7;

/** Largest output in tokens, if neither the request nor the catalogue limits it. */
const LARGEST_OUTPUT = 65_536;

/** Smallest and largest thinking budget of a model family, in tokens. */
interface BudgetRange {
  readonly least: number;
  readonly most: number;
  /** Whether 0 turns thinking off. */
  readonly mayBeOff: boolean;
}

const RANGES: readonly (readonly [family: RegExp, range: BudgetRange])[] = [
  [/-pro\b/, { least: 128, most: 32_768, mayBeOff: false }],
  [/-flash-lite\b/, { least: 512, most: 24_576, mayBeOff: true }],
  [/(?:)/, { least: 1, most: 24_576, mayBeOff: true }],
];

/** Returns the setting for thinking: a level from the third generation on, a budget of tokens before it. */
export function writeThinking(request: CanonicalRequest, endpoint: Endpoint, log: LossLog): object | undefined {
  const { reasoning } = request;
  const generation = generationOf(endpoint);
  if (reasoning === undefined) return undefined;
  if (generation < THINKING_GENERATION) return withoutThinking(reasoning, log);
  if (reasoning.summary !== undefined && reasoning.summary !== 'auto') log.approximate('reasoning.summary');
  const whole = request.maxOutputTokens ?? endpoint.maxCompletionTokens ?? LARGEST_OUTPUT;
  const writeDepth = generation < THIRD_GENERATION ? budgetOf : levelOf;
  const config = {
    ...(isShown(reasoning) && { includeThoughts: true }),
    ...writeDepth(reasoning, endpoint, whole, log),
  };
  return Object.keys(config).length === 0 ? undefined : config;
}

/** Returns the settings with which a model thinks as little as possible; undefined for a model that does not think. */
export function leastThinking(endpoint: Endpoint): ThinkingSettings | undefined {
  const generation = generationOf(endpoint);
  if (generation < THINKING_GENERATION) return undefined;
  if (generation >= THIRD_GENERATION) return { thinkingLevel: leastLevelOf(endpoint) };
  return { thinkingBudget: leastBudget(rangeOf(endpoint)) };
}

export type ThinkingSettings = { readonly thinkingLevel: Level } | { readonly thinkingBudget: number };

function withoutThinking(reasoning: ReasoningRequest, log: LossLog): undefined {
  if (isAsked(reasoning)) log.drop('reasoning');
  else if (reasoning.summary !== undefined && isShown(reasoning)) log.drop('reasoning.summary');
}

function isOff({ isEnabled, effort }: ReasoningRequest): boolean {
  return isEnabled === false || effort === 'none';
}

function isAsked(reasoning: ReasoningRequest): boolean {
  const { isEnabled, effort, maxTokens } = reasoning;
  return !isOff(reasoning) && (isEnabled !== undefined || effort !== undefined || maxTokens !== undefined);
}

function isShown(reasoning: ReasoningRequest): boolean {
  return reasoning.isHidden !== true && !isOff(reasoning);
}

/** Returns the thinking level. These models always think: "off" becomes their lowest level. */
function levelOf(
  reasoning: ReasoningRequest,
  endpoint: Endpoint,
  whole: number,
  log: LossLog,
): { readonly thinkingLevel?: Level } {
  const least = leastLevelOf(endpoint);
  if (isOff(reasoning)) {
    log.approximate('reasoning.effort');
    return { thinkingLevel: least };
  }
  const { effort, maxTokens } = reasoning;
  if (effort === undefined && maxTokens === undefined) return {};
  const asked = effort ?? leastThought(effortOfBudget(maxTokens!, whole));
  const level = asked === 'minimal' ? least : LEVELS[asked as Exclude<ReasoningEffort, 'none'>];
  if (effort === undefined) log.approximate('reasoning.max_tokens');
  else if (level !== effort.toUpperCase()) log.approximate('reasoning.effort');
  return { thinkingLevel: level };
}

/** Returns the lowest level. Pro never took MINIMAL; later Flash models, except Flash-Lite, do not any more. */
function leastLevelOf(endpoint: Endpoint): Level {
  const { upstreamModel } = endpoint;
  if (/-pro\b/.test(upstreamModel)) return 'LOW';
  if (!/-flash\b(?!-lite)/.test(upstreamModel)) return 'MINIMAL';
  // Returns whether a Flash model is of a late generation. `gemini-flash` without a number is the newest.
  const isLate = generationOf(endpoint) >= LOW_FLASH_GENERATION || /\bgemini-flash\b/.test(upstreamModel);
  return isLate ? 'LOW' : 'MINIMAL';
}

function leastThought(effort: ReasoningEffort): ReasoningEffort {
  return effort === 'none' ? 'minimal' : effort;
}

function budgetOf(
  reasoning: ReasoningRequest,
  endpoint: Endpoint,
  whole: number,
  log: LossLog,
): { readonly thinkingBudget?: number } {
  const range = rangeOf(endpoint);
  const { least, most } = range;
  if (isOff(reasoning)) {
    if (!range.mayBeOff) log.approximate('reasoning.effort');
    return { thinkingBudget: leastBudget(range) };
  }
  const { effort, maxTokens } = reasoning;
  if (effort === undefined && maxTokens === undefined) return {};
  const asked = maxTokens ?? budgetOfEffort(effort!, whole);
  const thinkingBudget = Math.min(Math.max(asked, least), most);
  if (maxTokens === undefined) log.approximate('reasoning.effort');
  else if (thinkingBudget !== maxTokens) log.approximate('reasoning.max_tokens');
  return { thinkingBudget };
}

function rangeOf({ upstreamModel }: Endpoint): BudgetRange {
  return RANGES.find(([family]) => family.test(upstreamModel))![1];
}

function leastBudget({ least, mayBeOff }: BudgetRange): number {
  return mayBeOff ? 0 : least;
}
