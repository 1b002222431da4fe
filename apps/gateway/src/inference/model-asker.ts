import { estimatePromptTokens, type InferenceEngine, type InferenceResult } from '@libs/inference';
import type { ModelQuestion } from '../plugins/plugin';
import type { InferenceRouting } from '../routing/inference-routing';
import { ownQuestion } from '../routing/own-question';
import type { PreparedCall } from './prepared-call';

/**
 * Returns a function that asks a model on behalf of a plugin. Its cost is reserved first, and the data rules of the
 * call apply to it too.
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
      ...ownQuestion(request, body, call.caller),
      generationId: call.generationId,
      signal: call.abort,
      preferences: { zdr, dataCollection },
    });
    fund.spent(held, result.cost);
    return result;
  };
}
