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
  const call = { maxTokens: null, answers: 1 };

  it('is the cap of the request, within what the model can do and what is ever reserved', () => {
    expect(heldOutputTokens({ maxCompletionTokens: null }, call)).toBe(1_024);
    expect(heldOutputTokens({ maxCompletionTokens: 500 }, call)).toBe(500);
    expect(heldOutputTokens({ maxCompletionTokens: null }, { maxTokens: 99_999, answers: 2 })).toBe(32_768);
  });
});
