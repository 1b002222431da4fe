import { thinkingWishOf } from '../model/expected-output';
import { aModel, anEndpoint, aProvider } from '../testing';
import { StreamMeter } from './answer-billing';
import type { AnswerContext } from './dialect';
import { hiddenTokens } from './hidden-output';

const THINKS = ['reasoning', 'tools'];

function contextOf(request: object, endpoint: Parameters<typeof anEndpoint>[0] = {}): AnswerContext {
  const made = anEndpoint({ supportedParameters: THINKS, ...endpoint });
  return {
    generationId: 'gen-1-abc',
    model: aModel({ endpoints: [made] }),
    endpoint: made,
    priceList: 'standard',
    beganMs: 0,
    requestBody: Buffer.from('{"messages":[{"role":"user","content":"twelve bytes"}]}'),
    expected: { maxTokens: 1_000, answers: 1, thinking: thinkingWishOf(request) },
  };
}

describe(hiddenTokens.name, () => {
  const bedrock = aProvider({ protocol: 'bedrock' });

  it.each([
    ['a model that thinks unasked', {}, {}, 970],
    ['a request that forbids it', { reasoning: { effort: 'none' } }, {}, 0],
    ['a request with a budget', { reasoning: { max_tokens: 100 } }, {}, 100],
    ['a model without thoughts', { reasoning: { effort: 'high' } }, { supportedParameters: ['tools'] }, 0],
    ['an unknown model', {}, { supportedParameters: [] }, 0],
    ['the same, asked', { reasoning: { effort: 'high' } }, { supportedParameters: [] }, 970],
    ['the Messages API, unasked', {}, { apis: ['messages'] }, 0],
    ['the Messages API, asked', { thinking: { type: 'enabled', budget_tokens: 300 } }, { apis: ['messages'] }, 300],
    ['Bedrock, unasked', {}, { provider: bedrock }, 0],
    [
      'a model that always thinks',
      { thinking: { type: 'disabled' } },
      { apis: ['messages'], capabilities: { messages: { thinking: 'always' } } },
      970,
    ],
  ] as const)('of %s', (_what, request, endpoint, expected) => {
    expect(hiddenTokens(contextOf(request, endpoint as never), 30)).toBe(expected);
  });

  it('are none where more has come than was reserved, or nobody can leave', () => {
    expect(hiddenTokens(contextOf({}), 5_000)).toBe(0);
    expect(hiddenTokens({ ...contextOf({}), expected: undefined }, 0)).toBe(0);
  });

  it('are on the bill of a stream that is left, until its upstream has counted', () => {
    const meter = new StreamMeter(contextOf({}));
    meter.count(40);
    expect(meter.left().usage).toMatchObject({ completionTokens: 1_000, provenance: 'partial' });
    const counts = { prompt: 7, completion: 20, total: null, cached: null, cacheWrite: null, audioPrompt: null };
    meter.report({ ...counts, reasoning: null, audioCompletion: null });
    meter.count(8);
    expect(meter.left().usage).toMatchObject({ promptTokens: 7, completionTokens: 22 });
  });
});
