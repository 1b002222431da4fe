import { privacyOf } from './request-privacy';

const text = (role: 'user' | 'system' | 'assistant' | 'tool', words: string) => ({
  role,
  parts: [{ type: 'text' as const, text: words }],
});
const messages = [
  text('system', 'Cite https://docs.example/a.'),
  text('user', 'Read https://a.example/?q=1, and https://b.example/'),
  text('assistant', 'I read https://model.example/?secret=words'),
  text('tool', 'See https://tool.example/'),
];

describe(privacyOf.name, () => {
  it.each([
    [{ preferences: { zdr: true } }],
    [{ preferences: { dataCollection: 'deny' as const } }],
    [{ policies: [{ isZdrRequired: true }] }],
    [{ policies: [{ isDataCollectionDenied: true }] }],
  ])('lets only links of the caller be followed under %j', (facts) => {
    const { callerLinks } = privacyOf(facts, { messages });
    expect([...callerLinks!]).toEqual(['https://docs.example/a', 'https://a.example/?q=1', 'https://b.example/']);
  });

  it('names no links elsewhere', () => {
    expect(privacyOf({}, { messages }).callerLinks).toBeUndefined();
    expect(privacyOf({ preferences: { zdr: false, order: ['one'] } }, { messages })).toEqual({
      preferences: { zdr: false },
    });
  });
});
