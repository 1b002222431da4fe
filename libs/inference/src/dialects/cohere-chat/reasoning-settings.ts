import type { CanonicalRequest, ReasoningRequest } from '../../model/canonical-request';
import type { LossLog } from '../../model/loss-report';
import { budgetOfEffort } from '../../model/reasoning-budget';
import type { Endpoint } from '../../catalogue/catalogue';
import { traitsOf } from './traits';

/** Output tokens from which a thinking budget is derived if neither the request nor the catalogue has a cap. */
const DEFAULT_ANSWER_TOKENS = 4_096;

interface Thinking {
  readonly type: 'enabled' | 'disabled';
  readonly token_budget?: number;
}

/** Returns the setting for thinking: a budget of tokens, or off. */
export function writeThinking(request: CanonicalRequest, endpoint: Endpoint, log: LossLog): Thinking | undefined {
  const { reasoning } = request;
  if (reasoning?.summary !== undefined) log.drop('reasoning.summary');
  if (reasoning === undefined || !isAsked(reasoning)) return undefined;
  const isOff = reasoning.isEnabled === false || reasoning.effort === 'none';
  if (traitsOf(endpoint).canThink) return isOff ? { type: 'disabled' } : enabled(reasoning, request, endpoint, log);
  if (!isOff) log.drop('reasoning');
  return undefined;
}

function isAsked({ isEnabled, effort, maxTokens }: ReasoningRequest): boolean {
  return isEnabled !== undefined || effort !== undefined || maxTokens !== undefined;
}

function enabled(
  { effort, maxTokens }: ReasoningRequest,
  { maxOutputTokens }: CanonicalRequest,
  { maxCompletionTokens }: Endpoint,
  log: LossLog,
): Thinking {
  if (maxTokens !== undefined) return { type: 'enabled', token_budget: maxTokens };
  if (effort === undefined) return { type: 'enabled' };
  log.approximate('reasoning.effort');
  const allowed = maxOutputTokens ?? maxCompletionTokens ?? DEFAULT_ANSWER_TOKENS;
  return { type: 'enabled', token_budget: Math.max(1, budgetOfEffort(effort, allowed)) };
}
