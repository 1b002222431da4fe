import type { ContentInput } from '@libs/inference';
import { beginningOf, contentInput, MOST_KEPT_BYTES } from './content-input';

const hello = { role: 'user', content: 'Hello!' };
const read = (text: string): ContentInput => JSON.parse(text) as ContentInput;
const input = (api: Parameters<typeof contentInput>[0], body: object): ContentInput =>
  read(contentInput(api, body as Record<string, unknown>, Buffer.byteLength(JSON.stringify(body))));

describe(contentInput.name, () => {
  it.each([
    ['chat', { messages: [hello], model: 'm' }, { messages: [hello] }],
    ['messages', { messages: [hello] }, { messages: [hello] }],
    [
      'messages',
      { system: 'Be kind.', messages: [hello] },
      { messages: [{ role: 'system', content: 'Be kind.' }, hello] },
    ],
    ['responses', { input: 'Hello!' }, { prompt: 'Hello!' }],
    ['responses', { input: [hello] }, { messages: [hello] }],
    [
      'responses',
      { input: 'Hello!', instructions: 'Be kind.' },
      { messages: [{ role: 'system', content: 'Be kind.' }, hello] },
    ],
    ['embeddings', { input: 'one' }, { prompt: 'one' }],
    ['embeddings', { input: ['one', 'two'] }, { messages: ['one', 'two'] }],
  ] as const)('keeps of %s %j', (api, body, expected) => {
    expect(input(api, body)).toEqual(expected);
  });

  it('keeps the words of a request and the beginning of its pictures', () => {
    const url = `data:image/png;base64,${'A'.repeat(MOST_KEPT_BYTES)}`;
    const picture = {
      role: 'user',
      content: [
        { type: 'image_url', image_url: { url } },
        { type: 'text', text: 'What?' },
      ],
    };
    const kept = input('chat', { messages: [picture] });
    expect(kept).toMatchObject({
      messages: [
        { content: [{ image_url: { url: expect.stringMatching(/characters left out\]$/) } }, { text: 'What?' }] },
      ],
    });
  });

  it('keeps the newest turns of a conversation that is too long, and says how many are left out', () => {
    const turns = Array.from({ length: 100 }, (_, index) => ({
      role: 'user',
      content: `${index} ${'x'.repeat(8_000)}`,
    }));
    const text = contentInput('chat', { messages: turns }, 800_000);
    const { messages } = read(text) as { messages: { role: string; content: string }[] };
    expect(Buffer.byteLength(text)).toBeLessThan(MOST_KEPT_BYTES + 200);
    expect(messages.at(-1)).toEqual(turns.at(-1));
    expect(messages[0]!.content).toBe(`[${100 - (messages.length - 1)} older messages left out]`);
  });

  it('does not look into a body that is larger than it may take the time for', () => {
    expect(read(contentInput('chat', { messages: [hello] }, 5_000_000))).toEqual({
      prompt: '[5000000 bytes of input left out]',
    });
  });
});

describe(beginningOf.name, () => {
  it('leaves alone what is short enough', () => {
    expect([beginningOf('abc', 3), beginningOf('abcd', 3)]).toEqual(['abc', 'abc [1 characters left out]']);
  });
});
