import {
  APIS,
  estimatePromptTokens,
  likelyPromptTokens,
  readRouteFacts,
  readRoutePolicies,
  type InferenceEngine,
  type InferenceResult,
} from '@libs/inference';
import type { ModelQuestion } from '../plugins/plugin';
import { credentialScopeOf } from '../routing/credential-scope';
import type { InferenceRouting } from '../routing/inference-routing';
import type { PreparedCall } from './prepared-call';

/**
 * Returns a function that asks a model for a plugin of a call. What it may cost is reserved first; the data rules of
 * the call hold for it too.
 */
export function modelAsker(
  engine: Pick<InferenceEngine, 'answer'>,
  routing: Pick<InferenceRouting, 'holdFor'>,
  { call, checked, fund }: PreparedCall,
): (question: ModelQuestion) => Promise<InferenceResult> {
  return async ({ model, messages, maxTokens }) => {
    const request = { model, messages, max_tokens: maxTokens };
    const body = Buffer.from(JSON.stringify(request));
    const expected = { maxTokens, answers: 1, promptTokens: estimatePromptTokens(body) };
    const held = await fund.reserve(
      routing.holdFor(call.caller, { ...expected, api: 'chat', models: [model] }, call.ownKeys),
    );
    const { zdr, dataCollection } = checked.route.preferences ?? {};
    const result = await engine.answer('chat', {
      ...readRouteFacts(request),
      model,
      generationId: call.generationId,
      body,
      signal: call.abort,
      expected: () => APIS.chat.outputOf(request),
      estimatedPromptTokens: likelyPromptTokens(body),
      scope: credentialScopeOf(call.caller),
      defaultSort: call.caller.settings?.default_provider_sort,
      preferences: { zdr, dataCollection },
      policies: call.caller.policies && readRoutePolicies(call.caller.policies),
    });
    fund.spent(held, result.cost);
    return result;
  };
}
