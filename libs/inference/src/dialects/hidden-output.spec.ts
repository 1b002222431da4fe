import { readThinkingWish } from '../model/expected-output';
import { anAnswerContext, anEndpoint, aProvider } from '../testing';
import { StreamMeter } from './answer-billing';
import type { AnswerContext } from './dialect';
import { hiddenTokens } from './hidden-output';

const THINKS = ['reasoning', 'tools'];
const ADAPTIVE = { apis: ['messages'], capabilities: { messages: { thinking: 'adaptive' } } };

function contextOf(request: object, endpoint: Parameters<typeof anEndpoint>[0] = {}, maxTokens = 1_000): AnswerContext {
  const own = 'thinking' in request ? (['thinking'] as const) : (['reasoning', 'reasoning_effort'] as const);
  return anAnswerContext({
    endpoint: anEndpoint({ supportedParameters: THINKS, ...endpoint }),
    requestBody: Buffer.from('{"messages":[{"role":"user","content":"twelve bytes"}]}'),
    expected: () => ({ maxTokens, answers: 1, thinking: readThinkingWish(request, own) }),
  });
}

describe(hiddenTokens.name, () => {
  const bedrock = aProvider({ protocol: 'bedrock' });

  it.each([
    ['a model that thinks unasked', {}, {}, 970],
    ['a request that forbids it', { reasoning: { effort: 'none' } }, {}, 0],
    ['a model without thoughts', { reasoning: { effort: 'high' } }, { supportedParameters: ['tools'] }, 0],
    ['an unknown model', {}, { supportedParameters: [] }, 0],
    ['the same, asked', { reasoning: { effort: 'high' } }, { supportedParameters: [] }, 970],
    ['the Messages API, unasked', {}, { apis: ['messages'] }, 0],
    ['the Messages API, asked', { thinking: { type: 'adaptive' } }, { apis: ['messages'] }, 970],
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

  it.each([
    ['as a budget', { apis: ['messages'] }, 2_048],
    ['as an effort, to a model that decides itself', ADAPTIVE, 7_970],
    ['as an effort, in a chat request', { apis: ['chat'] }, 7_970],
    ['as one of the two', { apis: ['chat', 'messages'] }, 7_970],
  ] as const)('are bounded by a budget only where the provider is sent it: %s', (_how, endpoint, expected) => {
    const request = { thinking: { type: 'enabled', budget_tokens: 2_048 } };
    expect(hiddenTokens(contextOf(request, endpoint as never, 8_000), 30)).toBe(expected);
  });

  it('are bounded by no less than the least budget that a provider takes', () => {
    const request = { reasoning: { max_tokens: 1 } };
    expect(hiddenTokens(contextOf(request, { apis: ['messages'] }, 8_000), 0)).toBe(1_024);
  });

  it('are not lowered by a budget beside an effort', () => {
    const request = { reasoning: { effort: 'high', max_tokens: 1 } };
    for (const api of ['chat', 'messages'] as const) {
      expect(hiddenTokens(contextOf(request, { apis: [api] }, 8_000), 0)).toBe(8_000);
    }
  });

  it('are none where more has come than was reserved, or nobody can leave', () => {
    expect(hiddenTokens(contextOf({}), 5_000)).toBe(0);
    expect(hiddenTokens({ ...contextOf({}), expected: undefined }, 0)).toBe(0);
  });

  it('are on the bill of a stream that is left, until its upstream has counted', () => {
    const meter = new StreamMeter(contextOf({}));
    meter.text.addText('ten tokens are seen, and more may be hidden');
    expect(meter.left().usage).toMatchObject({ completionTokens: 1_000, provenance: 'partial' });
    const counts = { prompt: 7, completion: 20, total: null, cached: null, cacheWrite: null, audioPrompt: null };
    meter.report({ ...counts, reasoning: null, audioCompletion: null });
    meter.text.addText(' two words');
    expect(meter.left().usage).toMatchObject({ promptTokens: 7, completionTokens: 23 });
  });
});
