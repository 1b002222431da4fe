import { anEndpoint, aProvider } from '../testing';
import { heldOutputTokens, thinkingWishOf } from './expected-output';

describe(thinkingWishOf.name, () => {
  it.each([
    [{}, { isAsked: null, maxTokens: null }],
    [
      { reasoning: null, thinking: null },
      { isAsked: null, maxTokens: null },
    ],
    [{ reasoning: { effort: 'high' } }, { isAsked: true, maxTokens: null }],
    [{ reasoning: { effort: 'none' } }, { isAsked: false, maxTokens: null }],
    [
      { reasoning: {}, reasoning_effort: 'none' },
      { isAsked: false, maxTokens: null },
    ],
    [{ reasoning_effort: 'none' }, { isAsked: false, maxTokens: null }],
    [{ reasoning_effort: 'low' }, { isAsked: true, maxTokens: null }],
    [{ reasoning: { enabled: false, max_tokens: 5 } }, { isAsked: false, maxTokens: 5 }],
    [{ reasoning: { max_tokens: 500 } }, { isAsked: true, maxTokens: 500 }],
    [{ thinking: { type: 'enabled', budget_tokens: 2_048 } }, { isAsked: true, maxTokens: 2_048 }],
    [{ thinking: { type: 'disabled' } }, { isAsked: false, maxTokens: null }],
    [{ thinking: { type: 'adaptive' } }, { isAsked: true, maxTokens: null }],
  ])('reads %j', (body, expected) => {
    expect(thinkingWishOf(body)).toEqual(expected);
  });
});

describe(heldOutputTokens.name, () => {
  const FREE = { prompt: 0n, completion: 0n };
  const call = { maxTokens: null, answers: 1 };
  const at = (maxCompletionTokens: number | null, pricing = FREE) => anEndpoint({ maxCompletionTokens, pricing });

  it('is the cap of the request, within what the model can do and what is ever reserved', () => {
    expect(heldOutputTokens(at(null), call)).toBe(1_024);
    expect(heldOutputTokens(at(500), call)).toBe(500);
    expect(heldOutputTokens(at(null), { maxTokens: 99_999, answers: 2 })).toBe(32_768);
  });

  it('has room for a picture where the model paints by the token', () => {
    expect(heldOutputTokens(at(null, { ...FREE, imageOutputToken: 1n } as never), call)).toBe(2_314);
  });

  it('is not below that of an answer without a cap where a model that thinks may be sent none', () => {
    const nova = (upstreamModel: string) =>
      anEndpoint({ upstreamModel, provider: aProvider({ protocol: 'bedrock' }), maxCompletionTokens: 65_536 });
    const thinking = (isAsked: boolean | null) => ({ isAsked, maxTokens: null });
    const nova2 = nova('global.amazon.nova-2-lite-v1:0');
    const held = [true, false, null].map((isAsked) =>
      heldOutputTokens(nova2, { maxTokens: 1, answers: 2, thinking: thinking(isAsked) }),
    );
    expect(held).toEqual([2_048, 2, 2]);
    expect(heldOutputTokens(nova2, { maxTokens: 9_000, answers: 1, thinking: thinking(true) })).toBe(9_000);
    const other = nova('anthropic.claude-sonnet-4-5-v1:0');
    expect(heldOutputTokens(other, { maxTokens: 1, answers: 1, thinking: thinking(true) })).toBe(1);
  });
});
