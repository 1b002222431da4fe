import { waveFile } from '../testing/recordings';
import { estimatePrompt, estimatePromptTokens, likelyPromptTokens } from './estimate';

const estimate = (body: object): number => estimatePromptTokens(Buffer.from(JSON.stringify(body)));

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const words = 'all of these words are a text that the model reads. ';

/** Tokens of a part of a chat message, without those of the message around it. */
const ofPart = (part: object, by = estimatePromptTokens): number => {
  const bodyOf = (content: object): Buffer => Buffer.from(JSON.stringify({ messages: [{ content: [content] }] }));
  return by(bodyOf(part)) - by(bodyOf({}));
};

const CONTEXT = 2_000_000;
const ANY_PICTURE = 36_000;

describe(estimatePromptTokens.name, () => {
  it('counts texts of any member alike', () => {
    const text = words.repeat(200);
    const inMessages = estimate({ messages: [{ content: text }] });
    expect(inMessages).toBeGreaterThan(1_800);
    expect(inMessages).toBeLessThan(3_500);
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
    const text = words.repeat(20_000);
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
  ])(
    'takes %s that cannot be measured for what its size usually means where that is enough',
    (_, part, large, small) => {
      const about = (tokens: number): { low: number; high: number } => ({ low: tokens, high: tokens + 40 });
      const likely = (data: string): number => ofPart(part(data), likelyPromptTokens);
      const [most, least] = [likely('A'.repeat(5_000_000)), likely('AAAA')];
      expect(most).toBeGreaterThanOrEqual(about(large).low);
      expect(most).toBeLessThanOrEqual(about(large).high);
      expect(least).toBeGreaterThanOrEqual(about(small).low);
      expect(least).toBeLessThanOrEqual(about(small).high);
    },
  );

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

  it('counts the text of a file like any other', () => {
    const text = words.repeat(20_000);
    const file = { file_data: `data:text/plain;base64,${Buffer.from(text).toString('base64')}` };
    expect(ofPart({ file }) / ofPart({ text })).toBeCloseTo(1, 1);
  });

  it('counts a picture that an earlier answer made, and text that only stands where such a picture would', () => {
    const result = `${PIXEL.slice(0, 32)}${'A'.repeat(100_000)}`;
    const item = { type: 'image_generation_call', status: 'completed', result };
    expect(estimate({ input: [item] })).toBeLessThan(1_200);
    expect(estimate({ input: [{ ...item, type: 'message' }] })).toBeGreaterThan(10_000);
  });

  const page = 'https://files.example/a';
  const sourced = (type: string): object => ({ source: { type: 'url', url: page }, type });

  it.each([
    ['a picture of chat', { type: 'image_url', image_url: { url: page } }, ANY_PICTURE],
    ['a picture of chat that is a string', { type: 'image_url', image_url: page }, ANY_PICTURE],
    ['a picture of responses', { type: 'input_image', image_url: page }, ANY_PICTURE],
    ['a picture of responses by its id', { type: 'input_image', file_id: 'file-1' }, ANY_PICTURE],
    ['a picture of messages', sourced('image'), ANY_PICTURE],
    ['a picture whose type is written with escapes', '{"source":{"url":"x"},"type":"im\\u0061ge"}', ANY_PICTURE],
    ['a film behind the name of a picture', { image_url: { url: `${page}.mp4?x` } }, CONTEXT],
    ['a PDF behind the name of a picture', { image_url: { url: `${page}.PDF#1` } }, CONTEXT],
    ['a file of chat', { type: 'file', file: { file_data: page } }, CONTEXT],
    ['a file of chat by its id', { type: 'file', file: { file_id: 'file-1' } }, CONTEXT],
    ['a file in cloud storage', { type: 'file', file: { file_data: 'gs://bucket/a' } }, CONTEXT],
    ['a file of responses', { type: 'input_file', file_url: page }, CONTEXT],
    ['a file of responses by its id', { file_id: 'file-1', type: 'input_file' }, CONTEXT],
    ['a document of messages', sourced('document'), CONTEXT],
    ['a document of messages by its id', { type: 'document', source: { type: 'file', file_id: 'f' } }, CONTEXT],
    ['a document behind a name with escapes', '{"s\\u006furce":{"url":"x"},"type":"document"}', CONTEXT],
    ['what does not say what it is', { source: { type: 'url', url: page } }, CONTEXT],
    ['what says two things', '{"type":"image","source":{"url":"x"},"type":"document"}', CONTEXT],
    ['a film', { type: 'video_url', video_url: { url: page } }, CONTEXT],
    ['a film of responses', { type: 'input_video', video_url: page }, CONTEXT],
    ['a sound', { type: 'audio_url', audio_url: { url: page } }, CONTEXT],
    ['a sound by its link', { type: 'input_audio', input_audio: `${page}.mp3` }, CONTEXT],
  ])('counts %s as the most that may be behind a link', (_, part, most) => {
    const json = typeof part === 'string' ? part : JSON.stringify(part);
    const tokens = estimatePromptTokens(Buffer.from(`{"messages":[{"content":[${json}]}]}`));
    expect(tokens).toBeGreaterThanOrEqual(most);
    expect(tokens).toBeLessThan(most + 60);
  });

  it('counts addresses that no provider opens as text', () => {
    const citation = { type: 'url_citation', url_citation: { url: `${page}.pdf`, title: 'A file' } };
    const found = { type: 'web_search_result', url: `${page}.pdf`, title: 'A file' };
    expect(ofPart({ type: 'text', text: 'a', annotations: [citation] })).toBeLessThan(80);
    expect(ofPart({ type: 'web_search_tool_result', content: [found] })).toBeLessThan(80);
  });

  it('knows the tokens of pictures by the family of the model', () => {
    const url = `data:image/png;base64,${PIXEL}`;
    const body = Buffer.from(
      JSON.stringify({ messages: [{ content: [{ image_url: { url } }, { image_url: { url } }] }] }),
    );
    expect(estimatePrompt(body).kinds).toMatchObject({
      images: 2,
      imageTokens: 2 * 1_120,
      imageTokensBy: { claude: 2, gemini: 2 * 1_120, gpt4oMini: 2 * 8_500 },
    });
  });

  it('measures media whose slashes are escaped, and lists PDF files for the meter', () => {
    const data = waveFile(100).toString('base64');
    const pdf = Buffer.from('%PDF-1.7 ').toString('base64');
    const parts = [{ input_audio: { data } }, { file: { file_data: `data:application/pdf;base64,${pdf}` } }];
    const body = JSON.stringify({ messages: [{ content: parts }] }).replaceAll('/', '\\/');
    const { tokens, pdfs } = estimatePrompt(Buffer.from(body));
    expect(tokens - CONTEXT).toBeGreaterThanOrEqual(3_200);
    expect(tokens - CONTEXT).toBeLessThan(3_300);
    expect(pdfs.map(({ start, end }) => body.slice(start, end))).toEqual([pdf]);
  });

  it('counts text behind a name of media that is written with escapes', () => {
    const text = words.repeat(20_000);
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
