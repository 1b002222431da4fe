import type { ReasoningEffort, ReasoningRequest } from '../../model/canonical-request';
import type { LossLog } from '../../model/loss-report';
import type { Endpoint } from '../../catalogue/catalogue';
import { effortsOf, nearestEffort } from './traits';

/** Returns the reasoning settings as an effort, the only one the API takes; undefined if the model takes none. */
export function knownReasoning(
  reasoning: ReasoningRequest | undefined,
  endpoint: Endpoint,
  log: LossLog,
): ReasoningRequest | undefined {
  if (reasoning?.summary !== undefined) log.drop('reasoning.summary');
  const asked = reasoning && effortAsked(reasoning);
  if (asked === undefined) return undefined;
  const efforts = effortsOf(endpoint);
  const nearest = nearestEffort(asked, efforts);
  if (efforts.length === 0 && asked !== 'none') log.drop('reasoning');
  else if (efforts.length > 0) noteDistance(reasoning!, nearest, log);
  return nearest && { effort: nearest };
}

function effortAsked({ isEnabled, effort, maxTokens }: ReasoningRequest): ReasoningEffort | undefined {
  if (isEnabled === false) return 'none';
  return effort ?? (isEnabled === undefined && maxTokens === undefined ? undefined : 'high');
}

function noteDistance(
  { effort, maxTokens }: ReasoningRequest,
  nearest: ReasoningEffort | undefined,
  log: LossLog,
): void {
  if (maxTokens !== undefined) log.approximate('reasoning.max_tokens');
  if (effort !== undefined && nearest !== effort) log.approximate('reasoning.effort');
}
