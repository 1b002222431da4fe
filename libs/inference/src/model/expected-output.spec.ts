import { anEndpoint, aProvider } from '../testing';
import { heldOutputTokens, readThinkingWish } from './expected-output';

const wish = (isAsked: boolean | null, maxTokens: number | null = null) => ({ isAsked, maxTokens });

const OWN = {
  chat: ['reasoning', 'reasoning_effort'],
  responses: ['reasoning'],
  messages: ['thinking'],
} as const;

describe(readThinkingWish.name, () => {
  it.each([
    ['chat', {}, wish(null)],
    ['chat', { reasoning: null, reasoning_effort: null, thinking: null }, wish(null)],
    ['chat', { reasoning: { effort: 'high' } }, wish(true)],
    ['chat', { reasoning: { effort: 'none' } }, wish(false)],
    ['chat', { reasoning_effort: 'none' }, wish(false)],
    ['chat', { reasoning: {}, reasoning_effort: 'none' }, wish(false)],
    ['chat', { reasoning: {} }, wish(true)],
    ['chat', { reasoning_effort: 'low' }, wish(true)],
    ['responses', { reasoning: { enabled: false, max_tokens: 5 } }, wish(false, 5)],
    ['responses', { reasoning: { max_tokens: 500 } }, wish(true, 500)],
    ['messages', { thinking: { type: 'enabled', budget_tokens: 2_048 } }, wish(true, 2_048)],
    ['messages', { thinking: { type: 'disabled' } }, wish(false)],
    ['messages', { thinking: { type: 'adaptive' } }, wish(true)],
  ] as const)('reads on %s %j', (api, body, expected) => {
    expect(readThinkingWish(body, OWN[api])).toEqual(expected);
  });

  it.each([
    ['chat', { reasoning: { effort: 'high', max_tokens: 1 } }],
    ['chat', { reasoning: { max_tokens: 1 }, reasoning_effort: 'high' }],
    ['responses', { reasoning: { effort: 'high', max_tokens: 1 } }],
  ] as const)('reads no bound where an effort is named: on %s %j', (api, body) => {
    expect(readThinkingWish(body, OWN[api])).toEqual(wish(true));
  });

  it.each([
    ['chat', { reasoning: { effort: 'high' }, thinking: { type: 'disabled' } }, wish(true)],
    ['chat', { reasoning: { enabled: true }, thinking: { budget_tokens: 0 } }, wish(true)],
    ['chat', { thinking: { type: 'disabled' } }, wish(null)],
    ['responses', { reasoning_effort: 'none' }, wish(null)],
    ['messages', { reasoning: { enabled: false, max_tokens: 1 } }, wish(null)],
  ] as const)('lets no member of another API forbid or bound it: on %s %j', (api, body, expected) => {
    expect(readThinkingWish(body, OWN[api])).toEqual(expected);
  });

  it.each([
    ['chat', { reasoning: { enabled: false, effort: 'high' } }],
    ['chat', { reasoning_effort: 'none', thinking: { type: 'enabled' } }],
  ] as const)('takes a contradiction for a wish: on %s %j', (api, body) => {
    expect(readThinkingWish(body, OWN[api])).toEqual(wish(true));
  });
});

describe(heldOutputTokens.name, () => {
  const FREE = { prompt: 0n, completion: 0n };
  const call = { maxTokens: null, answers: 1 };
  const at = (maxCompletionTokens: number | null, pricing = FREE) => anEndpoint({ maxCompletionTokens, pricing });

  it('is the whole cap of the request, within what the model can do', () => {
    expect(heldOutputTokens(at(null), call)).toBe(1_024);
    expect(heldOutputTokens(at(500), call)).toBe(500);
    expect(heldOutputTokens(at(128_000), { maxTokens: 99_999, answers: 2 })).toBe(199_998);
    expect(heldOutputTokens(at(8_000), { maxTokens: 99_999, answers: 2 })).toBe(16_000);
    const endpoint = { ...at(null), contextLength: 50_000 };
    expect(heldOutputTokens(endpoint, { maxTokens: 99_999, answers: 1 })).toBe(50_000);
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
