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

  it('is the cap of the request, within what the model can do and what is ever reserved', () => {
    expect(heldOutputTokens({ maxCompletionTokens: null, pricing: FREE }, call)).toBe(1_024);
    expect(heldOutputTokens({ maxCompletionTokens: 500, pricing: FREE }, call)).toBe(500);
    const most = heldOutputTokens({ maxCompletionTokens: null, pricing: FREE }, { maxTokens: 99_999, answers: 2 });
    expect(most).toBe(32_768);
  });

  it('has room for a picture where the model paints by the token', () => {
    const pricing = { ...FREE, imageOutputToken: 1n };
    expect(heldOutputTokens({ maxCompletionTokens: null, pricing }, call)).toBe(2_314);
  });
});
