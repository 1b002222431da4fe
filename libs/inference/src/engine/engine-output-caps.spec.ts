import { AppError } from '@libs/errors';
import type { StreamableApi } from '../dialects/dialect-pairs';
import { askEndpoint, FakeUpstream, lastSent, type Asked } from '../testing';

const messages = [{ role: 'user', content: 'Hello!' }];
const CHAT = { api: 'chat', spoken: 'chat' } as const;

let upstream: FakeUpstream;
beforeEach(async () => void (upstream = await FakeUpstream.start()));
afterEach(() => upstream.close());

const ask = (asked: Asked): ReturnType<typeof askEndpoint> => askEndpoint(upstream, asked);

describe('a cap above what the endpoint gives', () => {
  it.each<[StreamableApi, StreamableApi, string, string, object]>([
    ['chat', 'chat', 'max_tokens', 'max_tokens', { messages }],
    ['chat', 'chat', 'max_completion_tokens', 'max_completion_tokens', { messages }],
    ['chat', 'messages', 'max_tokens', 'max_tokens', { messages }],
    ['chat', 'responses', 'max_completion_tokens', 'max_output_tokens', { messages }],
    ['messages', 'messages', 'max_tokens', 'max_tokens', { messages }],
    ['messages', 'chat', 'max_tokens', 'max_completion_tokens', { messages }],
    ['messages', 'responses', 'max_tokens', 'max_output_tokens', { messages }],
    ['responses', 'responses', 'max_output_tokens', 'max_output_tokens', { input: 'Hello!' }],
    ['responses', 'chat', 'max_output_tokens', 'max_completion_tokens', { input: 'Hello!' }],
    ['responses', 'messages', 'max_output_tokens', 'max_tokens', { input: 'Hello!' }],
  ])('of %s is lowered for %s, and reported: %s', async (api, spoken, asked, sentAs, members) => {
    const { losses } = await ask({ api, spoken, members: { ...members, [asked]: 32_000 } });
    expect(lastSent(upstream)[sentAs]).toBe(16_000);
    expect(losses.approximated).toEqual([asked]);
    const { losses: none } = await ask({ api, spoken, members: { ...members, [asked]: 16_000 } });
    expect(lastSent(upstream)[sentAs]).toBe(16_000);
    expect(none.approximated).toEqual([]);
  });

  it('is lowered in both members of a chat; the endpoint gets the one that it supports', async () => {
    const both = { ...CHAT, members: { messages, max_tokens: 64_000, max_completion_tokens: 32_000 } };
    await ask(both);
    expect(lastSent(upstream)).toMatchObject({ max_completion_tokens: 16_000 });
    expect(lastSent(upstream)).not.toHaveProperty('max_tokens');
    await ask({ ...both, endpoint: { capabilities: { chat: { max_tokens: true } } } });
    expect(lastSent(upstream)).toMatchObject({ max_tokens: 16_000 });
    expect(lastSent(upstream)).not.toHaveProperty('max_completion_tokens');
  });

  it('leaves room for the answer beside a budget of thoughts', async () => {
    const members = { messages, max_tokens: 64_000, thinking: { type: 'enabled', budget_tokens: 32_000 } };
    const { losses } = await ask({ api: 'messages', spoken: 'messages', members });
    expect(lastSent(upstream)).toMatchObject({
      max_tokens: 16_000,
      thinking: { type: 'enabled', budget_tokens: 15_999 },
    });
    expect(losses.approximated).toEqual(['max_tokens', 'thinking.budget_tokens']);
    const thinking = { type: 'enabled', budget_tokens: 8_000 };
    await ask({ api: 'messages', spoken: 'messages', members: { ...members, thinking } });
    expect(lastSent(upstream)).toMatchObject({ max_tokens: 16_000, thinking });
  });

  it('is the context where the catalogue says no more, and stays where it says nothing', async () => {
    const asked = { ...CHAT, members: { messages, max_tokens: 200_000 } };
    await ask({ ...asked, endpoint: { maxCompletionTokens: null } });
    expect(lastSent(upstream)).toMatchObject({ max_tokens: 128_000 });
    await ask({ ...asked, endpoint: { maxCompletionTokens: null, contextLength: null } });
    expect(lastSent(upstream)).toMatchObject({ max_tokens: 200_000 });
  });

  it.each([
    ['chat', 'max_tokens', { messages }],
    ['chat', 'max_completion_tokens', { messages, max_tokens: 5 }],
    ['responses', 'max_output_tokens', { input: 'Hi' }],
    ['messages', 'max_tokens', { messages }],
  ] as const)('of %s by %s is refused with both numbers where the operator wants that', async (api, field, members) => {
    const asked = ask({ ...CHAT, api, members: { ...members, [field]: 32_000 }, parts: { capsOutput: false } });
    await expect(asked).rejects.toThrow(AppError);
    await expect(asked).rejects.toMatchObject({
      code: 'max_tokens_exceeded',
      message: expect.stringMatching(
        new RegExp(`gives that many output tokens: 32000 were asked for, and 16000 are the most.*; lower ${field}$`),
      ),
      availability: { constraint: { field } },
    });
    expect(upstream.requests).toHaveLength(0);
  });
});
