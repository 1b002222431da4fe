import { OPEN_ARRAY } from '@libs/json';
import { heldOutputTokens, PICTURE_TOKENS, type ExpectedOutput } from '../model/expected-output';
import { alwaysThinks, isAdaptive, LEAST_BUDGET } from './anthropic-messages/reasoning-settings';
import type { Endpoint } from '../catalogue/catalogue';
import type { AnswerContext } from './dialect';
import { memberText, scanRequest } from './request-members';
import { isKnownToThink, thinks } from './untaken-parameters';

/**
 * Returns the most tokens that a model can have thought without showing them. Used to bill a call whose caller
 * disconnected before the provider reported usage. 0 if the request or the model does not think. Otherwise the
 * request's cap on thoughts if it is sent to the provider; else the output that the call has reserved minus the
 * `seenTokens` that arrived. Never more than is reserved.
 */
export function hiddenTokens(context: AnswerContext, seenTokens: number): number {
  const { endpoint } = context;
  if (context.expected === undefined || !thinks(endpoint)) return 0;
  const expected = context.expected();
  if (!mayThink(endpoint, expected)) return 0;
  const left = reservedTokens(context, seenTokens);
  const { maxTokens } = expected.thinking;
  return maxTokens === null || !takesBudget(endpoint) ? left : Math.min(Math.max(maxTokens, LEAST_BUDGET), left);
}

/** Returns the output tokens that a call has reserved minus those already received; 0 if the reservation is unknown. */
export function reservedTokens({ expected, endpoint }: AnswerContext, seenTokens: number): number {
  return expected === undefined ? 0 : Math.max(0, heldOutputTokens(endpoint, expected()) - seenTokens);
}

/**
 * Returns the most pictures that a model can have made without sending them, for the bill of `hiddenTokens`. One for
 * each answer if the model makes pictures, the request's caps and modalities allow one, and none has arrived; otherwise
 * 0.
 */
export function hiddenPictures(
  { model, endpoint, expected, requestBody }: AnswerContext,
  seenPictures: number,
): number {
  if (seenPictures > 0 || !model.architecture.outputModalities.includes('image')) return 0;
  const modalities = memberText(scanRequest(requestBody), 'modalities');
  const isWanted = modalities === undefined || modalities[0] !== OPEN_ARRAY || modalities.includes('"image"');
  if (!isWanted) return 0;
  if (expected === undefined) return 1;
  const { answers, ...wish } = expected();
  return heldOutputTokens(endpoint, { ...wish, answers: 1 }) >= PICTURE_TOKENS ? answers : 0;
}

/**
 * Returns whether an endpoint receives the cap on thoughts unchanged. Other endpoints may receive an effort, which is
 * not a cap.
 */
function takesBudget(endpoint: Endpoint): boolean {
  return endpoint.apis.every((api) => api === 'messages') && !isAdaptive(endpoint);
}

/**
 * Returns whether the model may think. On the Messages API and Bedrock, and if unknown, it does so only when the
 * request asks for it.
 */
function mayThink(endpoint: Endpoint, { thinking }: ExpectedOutput): boolean {
  if (alwaysThinks(endpoint)) return true;
  const thinksUnasked = !endpoint.apis.includes('messages') && !endpoint.provider.protocol.endsWith('bedrock');
  return thinking.isAsked ?? (thinksUnasked && isKnownToThink(endpoint));
}
