import { estimatePromptTokens } from './estimate';

const estimate = (body: object): number => estimatePromptTokens(Buffer.from(JSON.stringify(body)));

describe(estimatePromptTokens.name, () => {
  it('counts a token for four bytes of what the model reads', () => {
    expect(estimate({ messages: [{ content: 'x'.repeat(400) }] })).toBe(100);
    expect(estimate({ messages: [{ content: [{ text: 'é'.repeat(200) }] }], tools: [{ name: 'x'.repeat(40) }] })).toBe(
      110,
    );
    expect(estimate({ instructions: 'x'.repeat(40), input: 'x'.repeat(40) })).toBe(20);
  });

  it('counts nothing else', () => {
    expect(estimate({ model: 'x'.repeat(400), metadata: { note: 'x'.repeat(400) } })).toBe(0);
  });

  it('counts token ids one by one', () => {
    expect(estimate({ input: [[1, 2, 3], [4]] })).toBe(4);
  });

  it('counts pictures, sounds and files the same whatever their size', () => {
    const url = `data:image/png;base64,${'A'.repeat(5_000_000)}`;
    expect(estimate({ messages: [{ content: [{ image_url: { url } }] }] })).toBe(1_000);
    expect(estimate({ messages: [{ content: [{ input_audio: { data: 'A'.repeat(5_000_000) } }] }] })).toBe(1_000);
  });

  it('counts text as it is written, and no white space around it', () => {
    expect(estimatePromptTokens(Buffer.from('{ "input" : [ "\\n\\n" , true ] , "model" : "xxxx" }'))).toBe(2);
  });

  it('knows a member by its name, however that is written', () => {
    expect(estimatePromptTokens(Buffer.from(`{"m\\u0065ssages":[{"content":"${'x'.repeat(400)}"}]}`))).toBe(100);
    const media = `{"input":[{"d\\u0061ta":"${'A'.repeat(40_000)}"}]}`;
    expect(estimatePromptTokens(Buffer.from(media))).toBe(1_000);
  });

  it('takes what is too deep to be looked at for text', () => {
    const text = `{"input":${'['.repeat(100)}"${'x'.repeat(4_000)}"${']'.repeat(100)}}`;
    expect(estimatePromptTokens(Buffer.from(text))).toBeGreaterThan(1_000);
  });

  it('reads a prompt of a single letter at the very end', () => {
    expect(estimate({ input: 'a' })).toBe(1);
    expect(estimate({ input: '' })).toBe(0);
  });
});
