import { heldOutputTokens } from '../model/expected-output';
import { alwaysThinks } from './anthropic-messages/reasoning-settings';
import type { AnswerContext } from './dialect';
import { isKnownToThink, thinks } from './untaken-parameters';

/**
 * Returns the most tokens that a model can have thought unseen, for the bill of a call that was left before its
 * provider reported usage. 0 where the request or the model has no thoughts; else the request's cap on thoughts, or
 * what the call has reserved for output, less the `seenTokens` that came. Never more than is reserved.
 */
export function hiddenTokens(context: AnswerContext, seenTokens: number): number {
  const { expected, endpoint } = context;
  if (expected === undefined || !mayThink(context)) return 0;
  const left = Math.max(0, heldOutputTokens(endpoint, expected) - seenTokens);
  return Math.min(expected.thinking.maxTokens ?? left, left);
}

/** Models behind the Messages API and Bedrock think only when asked, except those that always do; so do unknown ones. */
function mayThink({ expected, endpoint }: AnswerContext): boolean {
  if (!thinks(endpoint)) return false;
  if (alwaysThinks(endpoint)) return true;
  const thinksUnasked = !endpoint.apis.includes('messages') && !endpoint.provider.protocol.endsWith('bedrock');
  return expected?.thinking.isAsked ?? (thinksUnasked && isKnownToThink(endpoint));
}
