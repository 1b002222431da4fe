import { estimatePromptTokens } from './estimate';

const estimate = (body: object): number => estimatePromptTokens(Buffer.from(JSON.stringify(body)));

const words = 'all of these words are a text that the model reads. ';

/** Tokens of a part of a chat message, without those of the message around it. */
const ofPart = (part: object): number =>
  estimate({ messages: [{ content: [part] }] }) - estimate({ messages: [{ content: [{}] }] });

describe(estimatePromptTokens.name, () => {
  it('counts texts of any member alike', () => {
    const text = words.repeat(200);
    const inMessages = estimate({ messages: [{ content: text }] });
    expect(inMessages).toBeGreaterThan(1_800);
    expect(inMessages).toBeLessThan(2_800);
    const elsewhere = [
      { functions: [{ description: text }] },
      { response_format: { json_schema: { description: text } } },
      { prediction: { content: text } },
      { unlisted: text },
      { tools: [{ function: { parameters: { properties: { [text]: {} } } } }] },
    ];
    for (const body of elsewhere) expect(estimate(body)).toBeGreaterThanOrEqual(inMessages - 2);
  });

  it('counts text after data: as text', () => {
    const text = words.repeat(2_000);
    const tokens = ofPart({ type: 'text', text });
    expect(ofPart({ type: 'text', text: `data:${text}` })).toBeGreaterThanOrEqual(tokens);
    expect(ofPart({ type: 'text', text: `data:image/png;base64,${text}` })).toBeGreaterThanOrEqual(tokens);
    expect(ofPart({ image_url: { url: `data:${text}` } })).toBeGreaterThanOrEqual(tokens);
    expect(ofPart({ file: { file_data: text } })).toBeGreaterThanOrEqual(tokens);
  });

  it('counts token ids one by one', () => {
    expect(estimate({ input: [[1, 2, 3], [4]] })).toBe(4);
  });

  it.each([
    ['a picture', (data: string) => ({ image_url: { url: `data:image/png;base64,${data}` } }), 4_800, 1_000],
    ['a picture of a response', (data: string) => ({ image_url: `data:image/png;base64,${data}` }), 4_800, 1_000],
    ['a sound', (data: string) => ({ input_audio: { data, format: 'mp3' } }), 30_000, 250],
    ['a film', (data: string) => ({ video_url: { url: `data:video/mp4;base64,${data}` } }), 18_750, 2_000],
    ['a PDF', (data: string) => ({ file: { file_data: `data:application/pdf;base64,${data}` } }), 250_000, 2_000],
    [
      'a picture of messages',
      (data: string) => ({ type: 'image', source: { type: 'base64', media_type: 'image/png', data } }),
      4_800,
      1_000,
    ],
    [
      'a document of messages',
      (data: string) => ({ type: 'document', source: { data, media_type: 'application/pdf', type: 'base64' } }),
      250_000,
      2_000,
    ],
    ['the text of a file', (data: string) => ({ file: { file_data: `data:text/plain;base64,${data}` } }), 1_500_000, 3],
  ])('counts %s by its size, with a floor', (_, part, large, small) => {
    const about = (tokens: number): { low: number; high: number } => ({ low: tokens, high: tokens + 40 });
    const [most, least] = [ofPart(part('A'.repeat(5_000_000))), ofPart(part('AAAA'))];
    expect(most).toBeGreaterThanOrEqual(about(large).low);
    expect(most).toBeLessThanOrEqual(about(large).high);
    expect(least).toBeGreaterThanOrEqual(about(small).low);
    expect(least).toBeLessThanOrEqual(about(small).high);
  });

  it('counts a document as text unless it says that it is base64, and only that', () => {
    const data = words.repeat(2_000);
    const text = ofPart({ text: data });
    const sources = [
      `{"type":"text","media_type":"text/plain","data":${JSON.stringify(data)}}`,
      `{"data":${JSON.stringify(data)}}`,
      `{"type":"base64","type":"text","data":${JSON.stringify(data)}}`,
      `{"type":"text","data":${JSON.stringify(data)},"type":"base64"}`,
      `{"type":"base64","data":${JSON.stringify(data)},"data":""}`,
    ];
    for (const source of sources) {
      const body = `{"messages":[{"content":[{"source":${source}}]}]}`;
      expect(estimatePromptTokens(Buffer.from(body))).toBeGreaterThanOrEqual(text);
    }
  });

  it('counts a picture that an earlier answer made, and text that only stands where such a picture would', () => {
    const result = 'iVBORw0KGgo'.padEnd(100_000, 'A');
    const item = { type: 'image_generation_call', status: 'completed', result };
    expect(estimate({ input: [item] })).toBeLessThan(1_100);
    expect(estimate({ input: [{ ...item, type: 'message' }] })).toBeGreaterThan(10_000);
  });

  it('counts what is behind a link by its kind', () => {
    expect(ofPart({ image_url: { url: 'https://pictures.example/a.png' } })).toBeGreaterThanOrEqual(1_600);
    expect(ofPart({ file_url: 'https://files.example/a.pdf' })).toBeGreaterThanOrEqual(10_000);
    expect(ofPart({ video_url: { url: 'https://films.example/a' } })).toBeGreaterThanOrEqual(20_000);
  });

  it('takes a name that is written with escapes for none of those of media', () => {
    const text = words.repeat(2_000);
    const body = `{"messages":[{"content":[{"input_\\u0061udio":{"data":${JSON.stringify(text)}}}]}]}`;
    expect(estimatePromptTokens(Buffer.from(body))).toBeGreaterThan(18_000);
  });

  it('takes what is too deep to be looked at for text', () => {
    const text = `{"input":${'['.repeat(100)}"${words.repeat(400)}"${']'.repeat(100)}}`;
    expect(estimatePromptTokens(Buffer.from(text))).toBeGreaterThan(1_000);
  });

  it('reads a prompt of a single letter at the very end', () => {
    expect(estimate({ input: 'a' })).toBe(1);
    expect(estimate({ input: '' })).toBe(0);
  });
});
