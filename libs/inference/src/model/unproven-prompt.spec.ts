import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { pngFile } from '../testing/picture-files';
import { estimatePrompt } from './estimate';
import { MEDIA_LIMITS, PICTURE_LIMITS } from './media-limits';

const PICTURE = pngFile(1, 1).toString('base64');
const SOUND = { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } };

const promptOf = (body: object) => estimatePrompt(Buffer.from(JSON.stringify(body)));
const saying = (...content: readonly object[]) => promptOf({ model: 'm', messages: [{ role: 'user', content }] });

describe('what a prompt may be whatever its media say of themselves', () => {
  it('is not asked where it has none', () => {
    expect(saying({ type: 'text', text: 'Hi' }).unproven).toBeNull();
    expect(saying({ type: 'image_url', image_url: { url: 'https://acme.example/a.png' } }).unproven).toBeNull();
  });

  it('is for each picture the most that any costs, by the families of models', () => {
    const part = { type: 'image_url', image_url: { url: `data:image/png;base64,${PICTURE}` } };
    const { tokens, kinds, unproven } = saying(part, part);
    expect(tokens).toBeLessThan(4_000);
    expect(kinds!.imageTokensBy!['claude']).toBeLessThan(10);
    expect(unproven!.tokens).toBeGreaterThanOrEqual(2 * PICTURE_LIMITS.other);
    const { claude, gemini } = PICTURE_LIMITS;
    expect(unproven!.kinds).toMatchObject({ images: 2, imageTokensBy: { claude: 2 * claude, gemini: 2 * gemini } });
  });

  it.each([
    ['a picture of Messages', { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PICTURE } }],
    ['a picture of Responses', { type: 'input_image', image_url: `data:image/png;base64,${PICTURE}` }],
  ])('is that of a picture for %s', (_name, part) => {
    const { tokens } = saying(part).unproven!;
    expect(tokens).toBeGreaterThanOrEqual(PICTURE_LIMITS.other);
    expect(tokens).toBeLessThan(2 * PICTURE_LIMITS.other);
  });

  it.each([
    ['a recording', SOUND],
    ['a picture in the place of a file', { type: 'file', file: { file_data: `data:;base64,${PICTURE}` } }],
    ['a document', { type: 'document', source: { type: 'base64', media_type: 'text/plain', data: 'SGkh' } }],
  ])('is the longest that a provider reads for %s', (_name, part) => {
    expect(saying(part).unproven!.tokens).toBeGreaterThanOrEqual(MEDIA_LIMITS.unknown);
  });

  it('is the longest for another type in the place of a picture', () => {
    const part = { type: 'image_url', image_url: { url: `data:application/x-python;base64,${PICTURE}` } };
    expect(saying(part).unproven!.tokens).toBeGreaterThanOrEqual(MEDIA_LIMITS.unknown);
  });

  it('counts encrypted thoughts as text', () => {
    const signature = '\u{1f9ff}'.repeat(1_000);
    const { tokens, unproven } = saying({ type: 'thinking', thinking: '', signature });
    expect(unproven!.tokens).toBeGreaterThan(0.6 * encode(signature).length);
    expect(tokens).toBeLessThan(unproven!.tokens);
  });
});

describe('media that some provider reads', () => {
  const LINK = 'https://acme.example/a.bin';

  it.each([
    ['pictures that a model has made', { role: 'assistant', images: [{ image_url: { url: LINK } }] }],
    ['a film of embeddings', { content: [{ type: 'input_video', input_video: { data: LINK } }] }],
    ['a file of embeddings', { content: [{ type: 'input_file', input_file: { data: LINK } }] }],
    ['a film of embeddings in base64', { content: [{ type: 'input_video', input_video: { data: 'SGkh' } }] }],
    ['an unknown member', { role: 'user', notes: { image_url: { url: LINK } } }],
    ['a film as a list of pictures', { content: [{ type: 'video', video: [LINK, LINK] }] }],
    ['a list of links', { content: [{ type: 'image_url', image_url: [LINK] }] }],
    ['the shortest name of a picture', { content: [{ type: 'image', image: LINK }] }],
    ['a list of pictures', { role: 'user', content: 'Hi', images: [LINK] }],
  ])('count as media in %s', (_name, item) => {
    for (const body of [{ input: [item] }, { messages: [item] }]) {
      const { tokens, unproven } = promptOf({ model: 'm', ...body });
      expect(unproven?.tokens ?? tokens).toBeGreaterThanOrEqual(PICTURE_LIMITS.other);
    }
  });
});

describe('a name of media in JSON that a model reads as text', () => {
  const text = `data:image/png;base64,${PICTURE}${'q9Zx+Kw3'.repeat(2_000)}`;
  const least = 0.6 * encode(text).length;

  it.each([
    ['the schema of a listed tool', { type: 'mcp_list_tools', tools: [{ input_schema: { image_url: text } }] }],
    ['the environment of a shell', { type: 'local_shell_call', action: { env: { file_data: text } } }],
    ['attributes of a found file', { type: 'file_search_call', results: [{ attributes: { image_url: text } }] }],
    ['an unknown member', { role: 'user', content: 'Hi', notes: { image_url: { url: text } } }],
    ['an unknown signature', { role: 'user', content: 'Hi', notes: { signature: text } }],
    ['the source of something', { role: 'user', notes: { source: { type: 'base64', data: text } } }],
  ])('is text in %s', (_name, item) => {
    expect(promptOf({ model: 'm', input: [item] }).tokens).toBeGreaterThan(least);
    expect(promptOf({ model: 'm', messages: [item] }).tokens).toBeGreaterThan(least);
  });
});
